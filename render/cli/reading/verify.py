"""xplock verify: whether registries still have what was locked, and whether Crossplane accepts its signatures."""

from pathlib import Path

import click

from render.app.trust.signatures import SignatureCall, SignatureMode, judge_folders, require_accepted
from render.app.upstream import require_verified, verify_folders
from render.cli.operator_options import (
    REGISTRIES,
    TRUSTED_ROOT,
    OperatedCommand,
    given_words,
    operator_settings,
)
from render.cli.options import folders_argument, layout_option, layout_words, output_option
from render.cli.output import Output
from render.errors import Differs
from render.signatures.keyrings import SecretKey
from render.system.files import is_file
from render.views.trust.signatures import format_judged, judged_document
from render.views.trust.verification import findings_document, format_findings

_CACHED = "a running Crossplane verifies only what it has not cached"


def _parse_keys(
    context: click.Context, option: click.Parameter, texts: tuple[str, ...]
) -> dict[SecretKey, Path]:
    found = {}
    for text in texts:
        name, _, file = text.partition("=")
        secret, slash, key = name.partition("/")
        if not (secret and slash and key and is_file(Path(file))):
            raise click.BadParameter(
                f"{text!r} is not SECRET/KEY=FILE with a file that exists", context, option
            )
        found[SecretKey(secret, key)] = Path(file)
    return found


# Without options for the cache, which is never asked here.
@click.command(
    cls=OperatedCommand,
    settings=(*REGISTRIES, TRUSTED_ROOT),
    epilog="Examples: xplock verify clusters/*; xplock verify --trusted-root trusted_root.json clusters/*",
)
@folders_argument
@click.option(
    "--signatures",
    type=click.Choice((SignatureMode.REQUIRE.value, SignatureMode.OFF.value)),
    help="Report packages that no rule for signatures matches, too; or leave out all signatures. By default the ones "
    "that a rule matches are judged.",
)
@click.option(
    "--key",
    "keys",
    multiple=True,
    metavar="SECRET/KEY=FILE",
    callback=_parse_keys,
    help="A public key that rules find in a Secret of the cluster, if the folder has no such Secret; may be repeated.",
)
@layout_option
@output_option("text", "json")
@click.pass_obj
def verify(
    output: Output,
    folders: tuple[Path, ...],
    signatures: str | None,
    keys: dict[SecretKey, Path],
    layouts: list[tuple[str, Path]],
    form: str,
) -> None:
    """Ask the registries whether the bytes locked in each DIR are there, are what the lock says, and are still tagged.

    Packages that an ImageConfig with verification matches are also judged as Crossplane judges their signatures.

    Exit 3: a tag has moved or is gone, and the lock still installs what it always did. Exit 1: the bytes are gone or
    are something else, or Crossplane would not accept their signatures.
    """
    operator = operator_settings()
    found = verify_folders(folders, layouts, operator, output)
    call = SignatureCall(SignatureMode(signatures or SignatureMode.RULES), keys)
    judged = judge_folders(folders, call, layouts, operator, output)
    by_folder = {one.folder: one.judged for one in judged}
    if form == "json":
        output.result_json(
            [
                {
                    **findings_document(one.folder, one.packages, one.findings),
                    "signatures": judged_document(by_folder.get(one.folder, ())),
                }
                for one in found
            ]
        )
    else:
        texts = (
            format_findings(one.folder, one.packages, one.findings)
            + format_judged(one.folder, by_folder.get(one.folder, ()))
            for one in found
        )
        output.result("".join(texts))
    if any(by_folder.values()):
        output.say(f"note: {_CACHED}")
    words = [*layout_words(layouts), *given_words(click.get_current_context())]
    try:
        require_verified(found, words)
    except Differs:
        # A signature that is not accepted is graver than a tag that moved.
        require_accepted(judged)
        raise
    require_accepted(judged)
