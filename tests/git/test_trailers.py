"""Trailers: our commits name the version of xplock and the inputs of their locks."""

from pathlib import Path

import pytest
from rig.git.repositories import ONE, SHOP, THREE, TWO, clone, git, project, record_of, save, shop

from render import __version__
from render.cli.run import run
from render.git.repository import Repository
from render.git.revisions import last_touch, read_message
from render.git.trailers import Trailers, digest_inputs, find_trailers, format_trailers, parse_trailers
from render.system.files import LOCK_FILE

DIGEST = "sha256:" + "a" * 64
OTHER = "sha256:" + "b" * 64


def test_the_base_of_an_update_is_read_back() -> None:
    trailers = Trailers("1.2.3", {"a/lock.yaml": DIGEST}, base="c" * 40)

    lines = format_trailers(trailers)

    assert lines[-1] == f"Xplock-Base: {'c' * 40}"
    assert parse_trailers("subject\n\n" + "\n".join(lines) + "\n") == trailers


def test_written_trailers_are_read_back() -> None:
    trailers = Trailers("1.2.3", {"b c/lock.yaml": OTHER, "a/lock.yaml": DIGEST})

    lines = format_trailers(trailers)

    assert lines == [
        "Xplock-Version: 1.2.3",
        f"Xplock-Inputs: {DIGEST} a/lock.yaml",
        f"Xplock-Inputs: {OTHER} b c/lock.yaml",
    ]
    assert parse_trailers("subject\n\nbody: x\n\n" + "\n".join(lines) + "\n") == trailers


def test_trailers_of_others_do_not_matter() -> None:
    message = (
        f"subject\n\nSigned-off-by: Kim\nXplock-Version: 1\nXplock-Inputs: {DIGEST} x\nReviewed-by: Robin\n"
    )

    assert parse_trailers(message) == Trailers("1", {"x": DIGEST})


@pytest.mark.parametrize(
    "message",
    [
        "",
        "subject",
        "subject\n\nXplock-Inputs: x y",
        "subject\n\nXplock-Version: 1\n\nand more",
        "subject\n\nXplock-Version: 1\nnot a trailer",
        "subject\n\nXplock-Version: 1\nXplock-Version: 2",
    ],
)
def test_other_messages_have_no_trailers(message: str) -> None:
    assert parse_trailers(message) is None


def test_an_invalid_record_is_left_out() -> None:
    message = f"s\n\nXplock-Version: 1\nXplock-Inputs: sha256:1 x\nXplock-Inputs: {DIGEST}\nXplock-Inputs: {DIGEST} y"

    assert parse_trailers(message) == Trailers("1", {"y": DIGEST})


def test_the_digest_of_a_record_depends_on_all_of_it_and_on_no_order() -> None:
    record = {"root a": DIGEST, "setting b": OTHER}

    same = digest_inputs(dict(reversed(record.items())))

    assert digest_inputs(record) == same
    assert (
        len(
            {
                digest_inputs(record),
                digest_inputs({"root a": DIGEST}),
                digest_inputs({**record, "root a": OTHER}),
            }
        )
        == 3
    )


def trailers_at(repository: Repository, tip: str, path: str) -> Trailers | None:
    """Return what the last commit that touched a lock says about it."""
    commit = last_touch(repository, tip, path)
    return find_trailers(read_message(repository, commit), path) if commit else None


def test_the_trailers_are_those_of_the_last_change_of_the_lock(tmp_path: Path) -> None:
    root = shop(tmp_path)
    repository = Repository(root)
    none = trailers_at(repository, git(root, "rev-parse", "HEAD"), SHOP)
    (root / SHOP).write_bytes(TWO)
    run(["-q", "commit", str(root / "shop")])
    (root / "README").write_text("more\n")
    later = save(root)

    ours = trailers_at(repository, later, SHOP)
    (root / SHOP).write_bytes(THREE)
    theirs = trailers_at(repository, save(root), SHOP)

    assert (none, theirs) == (None, None)
    assert ours == Trailers(__version__, {SHOP: digest_inputs(record_of())})
    assert last_touch(repository, later, "missing") is None


def test_trailers_for_another_lock_are_ignored(tmp_path: Path) -> None:
    root = shop(tmp_path)
    project(root, ONE, "eu")
    save(root)
    (root / f"eu/{LOCK_FILE}").write_bytes(TWO)
    run(["-q", "commit", str(root / "eu")])
    tip = git(root, "rev-parse", "HEAD")
    # Its only commit seems to have made every file.
    cut = Repository(clone(root, tmp_path / "cut", "--depth=1"))

    other, own = trailers_at(cut, tip, SHOP), trailers_at(cut, tip, f"eu/{LOCK_FILE}")

    assert other is None
    assert own is not None
