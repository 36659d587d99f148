"""xplock render without options, and without click."""

import os
from pathlib import Path

from render.app.render import render_folder
from render.cli.output import Output
from render.limits import Limits
from render.manifests.text import format_yaml


def render_plain(folder: Path, output: Output) -> None:
    """Write the manifests of a folder to stdout, all of them or nothing."""
    output.result(format_yaml(render_folder(folder, Limits.from_environment(os.environ), os.environ)))
