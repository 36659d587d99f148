"""Arguments and options that several commands share."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from render.errors import InvalidInput
from render.system.files import is_folder

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

# All forms that -o has in some command.
OUTPUT_FORMS = ("text", "json", "yaml", "markdown", "sarif", "github", "mermaid", "dot", "svg", "html")


def output_option(*forms: str) -> Callable[[Decorated], Decorated]:
    """Return the -o option with the forms a command's result can have, the default first."""
    return click.option(
        "-o",
        "--output",
        "form",
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
        help="The result's form.",
    )


def _parse_layouts(
    context: click.Context, option: click.Parameter, texts: tuple[str, ...]
) -> list[tuple[str, Path]]:
    layouts = []
    for text in texts:
        prefix, equals, folder = text.rpartition("=")
        path = Path(folder)
        if not is_folder(path):
            raise click.BadParameter(f"{folder!r} is not a folder", context, option)
        layouts.append((prefix if equals else "", path))
    return layouts


layout_option = click.option(
    "--layout",
    "layouts",
    multiple=True,
    metavar="[PREFIX=]FOLDER",
    callback=_parse_layouts,
    help="An OCI layout that stands in for registries below PREFIX, or for all; may be repeated.",
)


def layout_words(layouts: Iterable[tuple[str, Path]]) -> list[str]:
    """Return the options as words of a command, for advice that repeats it."""
    named = [f"{prefix}={folder}" if prefix else str(folder) for prefix, folder in layouts]
    return [word for text in named for word in ("--layout", text)]


offline_option = click.option(
    "--offline", is_flag=True, help="Ask no registry; use what is locked, cached or in a layout."
)


_DEFAULT_FOLDER = f"{__name__}.folder"


def default_folder(context: click.Context) -> Path:
    """Return the folder that -C names, or the current one: folders on the command line are relative to it."""
    folder: Path = context.meta.get(_DEFAULT_FOLDER, Path())
    return folder


def remember_folder(context: click.Context, option: click.Parameter, folder: Path | None) -> None:
    """Keep the folder that -C names, for this command; a second one is below the first, as for git."""
    if folder is None:
        return
    path = default_folder(context) / folder
    if not is_folder(path):
        raise click.BadParameter(f"{str(path)!r} is not a folder", context, option)
    context.meta[_DEFAULT_FOLDER] = path


class _Folder(click.Path):
    """A folder; of one that does not exist, the error names the project folders that may be meant."""

    name = "folder"

    def __init__(self) -> None:
        super().__init__(exists=True, file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        """Return the folder, below the one that -C names; raise if it is none."""
        # A path without text, as of a variable that is not set, is none; below a folder it would be that folder.
        value = default_folder(context) / value if context and str(value) else value
        try:
            return super().convert(value, param, context)
        except click.BadParameter as error:
            error.possibilities = _meant_folders(Path(value))  # type: ignore[attr-defined]  # read by main.py
            raise


def _meant_folders(path: Path) -> list[str]:
    """Return the project folder of a file, or those that are spelled nearly like a path."""
    # Imported late: only errors need it.
    from difflib import get_close_matches

    from render.commands import as_path, shell
    from render.inputs.nearby import find_nearby_projects, is_project

    if is_project(path.parent) and path.exists():
        return [shell(as_path(path.parent))]
    there = next((parent for parent in path.parents if is_folder(parent)), Path())
    known = [str(one) for one in find_nearby_projects(there, None)]
    return [shell(as_path(one)) for one in get_close_matches(str(path), known) or known]


_LIVE_OPTIONS = (
    click.option("--context", metavar="NAME", help="Read the cluster of this context of your kubeconfig."),
    click.option(
        "--kubeconfig", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="The kubeconfig for kubectl."
    ),
    click.option(
        "--save",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write what kubectl printed to this file, so that another call can read it.",
    ),
)  # fmt: skip


def live_options(command: Decorated) -> Decorated:
    """Add the options for reading a cluster with kubectl, one for each field of LiveInput."""
    for option in reversed(_LIVE_OPTIONS):
        command = option(command)
    return command


_RECURSIVE = f"{__name__}.recursive"
_SHARD = f"{__name__}.shard"
_SHOWN_PROJECTS = 5


def _remember(key: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def remember(context: click.Context, _option: click.Parameter, value: Any) -> None:
        context.meta[key] = value

    return remember


def _expand_folders(
    context: click.Context, _option: click.Parameter | None, given: tuple[Path, ...]
) -> tuple[Path, ...]:
    """Return the folders of a call: those that are named, or the project folders below them."""
    folders = given or (default_folder(context),)
    if context.meta.get(_RECURSIVE):
        return _find_below(context, folders)
    if context.meta.get(_SHARD):
        raise click.UsageError("--shard splits a recursive call: add -R", context)
    return folders


def has_one_folder(context: click.Context, folders: Sequence[Path]) -> bool:
    """Return whether a call is about one folder that it names: a program gets its facts without a list around them."""
    return len(folders) == 1 and not context.meta.get(_RECURSIVE)


def is_recursive(context: click.Context) -> bool:
    """Return whether a call is about folders that it found below those it names."""
    return bool(context.meta.get(_RECURSIVE))


def _find_below(context: click.Context, folders: Iterable[Path]) -> tuple[Path, ...]:
    # Imported late: most calls name their folders.
    from render.cli.operator_options import operator_settings
    from render.inputs.below import find_projects_below, parse_shard
    from render.texts import counted, first_names

    text = context.meta.get(_SHARD)
    shard = parse_shard(text) if text else None
    limits = operator_settings().limits
    found = [find_projects_below(folder, limits, shard) for folder in folders]
    projects = tuple(dict.fromkeys(path for one in found for path in one.projects))
    for path in (path for one in found for path in one.unreadable):
        context.obj.warn(f"{path} is not searched: it cannot be read")
    if not projects and not shard:
        raise InvalidInput(
            f"no project folder is below {' and '.join(map(str, folders))}",
            why="a project folder has a lock or xplock.yaml; hidden folders and links are not searched",
            next="name a folder that has one, or lock each new folder by its name first",
        )
    shown = first_names(list(map(str, projects)), _SHOWN_PROJECTS)
    context.obj.say(f"{counted(len(projects), 'project folder')}{f': {shown}' if projects else ''}")
    return projects


_recursive_options = (
    click.option(
        "-R",
        "--recursive",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_remember(_RECURSIVE),
        help="Work on every project folder below DIR: those with a lock or settings.",
    ),
    click.option(
        "--shard",
        metavar="I/N",
        is_eager=True,
        expose_value=False,
        callback=_remember(_SHARD),
        help="Of these, only part I of N: the same folders fall to the same part everywhere.",
    ),
)

_named_folders = click.argument(
    "folders", nargs=-1, metavar="[DIR]...", type=_Folder(), callback=_expand_folders
)


def recursive_options(command: Decorated) -> Decorated:
    """Add the options that find folders, to a command whose arguments are more than folders."""
    for add in reversed(_recursive_options):
        command = add(command)
    return command


def find_folders(context: click.Context, names: Sequence[str]) -> tuple[Path, ...]:
    """Return the folders of a call that are named, or found below those."""
    kind = _Folder()
    return _expand_folders(context, None, tuple(kind.convert(name, None, context) for name in names))


def folders_argument(command: Decorated) -> Decorated:
    """Add the folders that a command works on, and the options that find them."""
    for add in reversed((_named_folders, *_recursive_options)):
        command = add(command)
    return command


folder_argument = click.argument(
    "folder",
    metavar="[DIR]",
    default=Path(),
    type=_Folder(),
)


_COMMIT_OPTIONS = (
    click.option("--branch", metavar="NAME", help="Commit to this branch, a new one if needed, and print the text of a pull request."),
    click.option("--from", "start", metavar="REV", help="Where that branch starts, instead of HEAD."),
    click.option("--with-inputs", is_flag=True, help="Commit the files that the lock was made from, too; only those of its own folder."),
    click.option("--push", is_flag=True, help="Push the branch; commits of others are never replaced."),
    click.option("--remote", metavar="NAME", help="The remote to push to, instead of the branch's own."),
    click.option("--author", metavar='"NAME <MAIL>"', help="The author, instead of the one git is configured with."),
    click.option("-m", "--message", "subject", metavar="TEXT", help="The first line of the commit message."),
    click.option(
        "--sign/--no-sign", default=None, help="Sign the commit or not. By default commit.gpgSign of git decides."
    ),
    click.option("--signoff", is_flag=True, help="Add a Signed-off-by line to the message."),
    click.option("--pre-push", is_flag=True, help="Run the hooks that git has for pushing; otherwise none is run."),
)  # fmt: skip


def commit_options(command: Decorated) -> Decorated:
    """Add the options for committing, one for each field of CommitOptions."""
    for option in reversed(_COMMIT_OPTIONS):
        command = option(command)
    return command
