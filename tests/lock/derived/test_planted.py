"""Edits of several lines at once, as a person would make them who wants something else to be installed."""

from collections.abc import Callable
from pathlib import Path

import pytest
from rig.builders.projects import HOME, World, at

from render.cli.run import run
from render.lean import replace
from render.limits import Limits
from render.lock.freshness import require_lock
from render.lock.model import KeptPin, Lock, LockedPackage, Replaced, State
from render.lock.text.format import format_lock
from render.moves import Consent, Strategy
from render.packages import Kind
from render.references import parse_digest, parse_source
from render.system.files import LOCK_FILE

EVIL = parse_source("xpkg.example.org/evil/package")
DIGEST = parse_digest("sha256:" + "e" * 64)
Forge = Callable[[Lock], Lock]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder that asks for an app by a manifest; the app needs a base."""
    world = World(tmp_path)
    world.publish("base v1.0.0", kind="Provider")
    world.publish("base v1.1.0", kind="Provider")
    world.publish("app v1.0.0", {"base": ">=v1.0.0"})
    world.publish("app v1.1.0", {"base": ">=v1.0.0"})
    folder = world.project("platform")
    manifest = {
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": "Configuration",
        "metadata": {"name": "app"},
        "spec": {"package": f"{HOME}/app:v1.1.0", "revisionHistoryLimit": 3},
    }
    (folder / "app.yaml").write_text(str(manifest).replace("'", '"'))
    (folder / "xplock.yaml").write_text((folder / "xplock.yaml").read_text() + "crossplaneVersion: v2.4.0\n")
    assert run(["-q", "lock", str(folder)]) == 0
    return folder


def changed(name: str, **fields: object) -> Forge:
    """Change fields of one package."""

    def forge(lock: Lock) -> Lock:
        item = replace(lock.packages[parse_source(at(name))], **fields)  # type: ignore[arg-type]  # tests name fields
        return replace(lock, packages={**lock.packages, item.source: item})

    return forge


def without_the_root(lock: Lock) -> Lock:
    return replace(lock, packages={})


def foreign(source: str = str(EVIL), **fields: object) -> LockedPackage:
    made = LockedPackage(parse_source(source), "v1.0.0", DIGEST, Kind.PROVIDER, "evil-package")
    return replace(made, **fields)  # type: ignore[arg-type]  # tests name fields


def with_another_root(lock: Lock) -> Lock:
    return replace(lock, packages={**lock.packages, EVIL: foreign(root="v1.0.0")})


def with_a_foreign_package_deactivated(lock: Lock) -> Lock:
    off = foreign(state=State.DEACTIVATED, replaced_by=(parse_source(at("base")),))
    record = (Replaced(EVIL, Strategy.DEACTIVATE, Consent.CLAIM),)
    return replace(changed("base", replaces=record)(lock), deactivated={EVIL: off})


def as_an_alias(lock: Lock) -> Lock:
    record = (Replaced(EVIL, Strategy.ALIAS, Consent.MOVES),)
    forged = changed("base", replaces=record, installed_as=EVIL, object_name="evil-package")(lock)
    why = (f"it needs {at('base')}, which the cluster knows as {EVIL}",)
    return changed("app", detached=why)(forged)


FORGED: dict[str, Forge] = {
    "the version of a root": changed("app", version="v1.0.0"),
    "the request of a root": changed("app", root="v1.0.0"),
    "a root that is missing": without_the_root,
    "another root": with_another_root,
    "the object of a root": changed("app", object_name="other"),
    "the kind of a root": changed("app", kind=Kind.PROVIDER),
    "the fields of a root": changed("app", fields={"spec": {"revisionHistoryLimit": True}}),
    "fields of a dependency": changed("base", fields={"spec": {"runtimeConfigRef": {"name": "evil"}}}),
    "overrides of a dependency": changed("base", overrides={"spec": {"packagePullPolicy": "Always"}}),
    "a reason to detach": changed("app", detached=("it depends on itself",)),
    "an alias without a move": as_an_alias,
    "a foreign package under deactivated": with_a_foreign_package_deactivated,
    "a kept pin of another package": changed("base", kept_pins=(KeptPin("v1.0.0", DIGEST, None, EVIL),)),
    "a kept pin with bytes from elsewhere": changed("base", kept_pins=(KeptPin("v1.0.0", DIGEST, EVIL),)),
    "installed by its digest": changed("base", version=DIGEST, digest=DIGEST, tag="v1.1.0"),
    "an orphan that a root needs": changed("base", state=State.ORPHANED),
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED.keys())
@pytest.mark.parametrize(
    "command", [["render"], ["plugin", "generate"], ["check"], ["lock", "--check"]], ids=" ".join
)
def test_a_forged_lock_is_refused(
    project: Path,
    forge: Forge,
    command: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forged = forge(require_lock(project, Limits()))
    (project / LOCK_FILE).write_text(format_lock(forged))
    monkeypatch.chdir(project)

    code = run(command)

    assert code in (1, 3, 4), capsys.readouterr()


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED.keys())
def test_the_next_lock_does_not_keep_what_was_forged(project: Path, forge: Forge) -> None:
    forged = forge(require_lock(project, Limits()))
    (project / LOCK_FILE).write_text(format_lock(forged))

    code = run(["-q", "lock", str(project)])

    # A name, a kind, a move or a digest that the lock has is never changed silently: that is an error.
    locked = (project / LOCK_FILE).read_bytes()
    assert code != 0 or not (b"evil" in locked or DIGEST.encode() in locked or b"Always" in locked)


def test_an_edited_lock_is_named_when_it_is_locked_again(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forged = changed("app", version="v1.0.0")(require_lock(project, Limits()))
    (project / LOCK_FILE).write_text(format_lock(forged))

    assert run(["lock", str(project)]) == 0

    assert "the lock did not answer them; was it edited?" in capsys.readouterr().err


def test_an_honest_lock_passes(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)

    assert run(["render"]) == run(["check"]) == run(["lock", "--check"]) == 0
