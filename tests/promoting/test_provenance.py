"""Where promoted versions come from: what a lock records, how strictly it is read, and when it goes."""

from pathlib import Path

import pytest
from rig.builders.projects import HOME, World, text_of
from rig.commands.run import run_command
from rig.git.repositories import git, new_repository, save

from render.limits import Limits
from render.lock.model import Lock, Promotion
from render.lock.text.file import read_lock
from render.registry.oci import digest_of
from render.system.files import LOCK_FILE


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A repository in which staging has net v1.1.0, and production net v1.0.0 and something of its own."""
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path, relative=True)
    for package in ("net v1.0.0", "net v1.1.0", "lone v1.0.0", "lone v1.1.0"):
        world.publish(package)
    world.project("clusters/staging", "net:v1.1.0")
    world.project("clusters/production", "net:v1.0.0", "lone:v1.0.0")
    new_repository(tmp_path / "clusters")
    done = run_command("lock", "clusters/staging", "clusters/production")
    assert done.code == 0, done
    save(tmp_path / "clusters")
    monkeypatch.chdir(tmp_path / "clusters")
    return world


def promoted() -> Promotion | None:
    return (read_lock(Path("production"), Limits()) or Lock()).promoted


def head() -> str:
    return git(Path(), "rev-parse", "HEAD").strip()


@pytest.mark.usefixtures("world")
def test_the_lock_records_the_folder_its_lock_and_how_many_packages_are_from_there() -> None:
    staging = digest_of(text_of(Path("staging")))

    done = run_command("promote", "staging", "production")

    assert (done.code, promoted()) == (0, Promotion("../staging", staging, 1))
    assert f"as in staging@{head()[:7]})" in done.stdout


@pytest.mark.usefixtures("world")
def test_the_record_is_the_same_from_any_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("production")

    done = run_command("promote", "../staging", "-o", "json")

    assert (done.code, (promoted_here() or Promotion("", digest_of(b""), 0)).origin) == (0, "../staging")


def promoted_here() -> Promotion | None:
    return (read_lock(Path(), Limits()) or Lock()).promoted


@pytest.mark.usefixtures("world")
def test_of_a_revision_the_commit_is_recorded_and_its_files_are_read() -> None:
    commit, staging = head(), digest_of(text_of(Path("staging")))
    (Path("staging") / LOCK_FILE).unlink()

    done = run_command("promote", "HEAD:staging", "production")

    assert (done.code, promoted()) == (0, Promotion(f"{commit}:staging", staging, 1))
    assert f"(minor; as in staging@{commit[:7]})" in done.stdout


@pytest.mark.usefixtures("world")
def test_a_revision_whose_lock_is_out_of_date_is_refused() -> None:
    settings = Path("staging/xplock.yaml")
    settings.write_text(settings.read_text().replace("v1.1.0", "v1.0.0"))
    save(Path(), "an edit without a lock")

    run_command("promote", "HEAD:staging", "production").assert_refused(
        4, "the versions of HEAD:staging are not promoted", f"root {HOME}/net changed"
    )


@pytest.mark.parametrize("name", ["HEAD:nowhere", "HEAD:../production", "none:staging", "HEAD~9:staging"])
@pytest.mark.usefixtures("world")
def test_a_revision_or_a_folder_that_is_not_there_is_refused(name: str) -> None:
    done = run_command("promote", name, "production")

    assert (done.code in (2, 4), done.stdout) == (True, "")
    assert done.stderr.startswith("error: ")


@pytest.mark.usefixtures("world")
def test_the_record_stays_until_a_version_changes() -> None:
    run_command("promote", "staging", "production")
    settings = Path("production/xplock.yaml")
    first = promoted()
    settings.write_text(settings.read_text() + "guard: false\n")
    run_command("lock", "production")
    same = promoted()
    settings.write_text(settings.read_text().replace("lone:v1.0.0", "lone:v1.1.0"))

    run_command("lock", "production")

    assert (same, promoted()) == (first, None)


@pytest.mark.parametrize(
    ("old", "new", "fact"),
    [
        ('from: "../staging"', 'from: "/srv/staging"', "expected a relative path"),
        ('from: "../staging"', 'from: "main:/x"', ""),
        ('from: "../staging"', 'from: ""', "expected a relative path"),
        ("packages: 1", "packages: 9", "expected a number of packages from 1 to 2, found 9"),
        ("packages: 1", "packages: 0", "expected a number of packages"),
        ("packages: 1", "packages: 1\n  at: noon", "at"),
        ("  lockDigest: sha256:", "  lockDigest: sha257:", "lockDigest"),
    ],
)
@pytest.mark.usefixtures("world")
def test_the_record_is_read_strictly(old: str, new: str, fact: str) -> None:
    run_command("promote", "staging", "production")
    lock = Path("production") / LOCK_FILE
    text = lock.read_text()
    assert old in text
    lock.write_text(text.replace(old, new))

    done = run_command("render", "production")

    assert done.code == (2 if fact else 0)
    assert fact in done.stderr


def test_where_the_inputs_are_the_same_a_promotion_is_a_copy_byte_for_byte(world: World) -> None:
    for name in ("blue", "green"):
        world.project(f"clusters/{name}", "net")
    run_command("lock", "-P", "net=v1.0.0", "blue", "green")
    run_command("lock", "blue", "green", "--new")
    run_command("lock", "-P", "net=v1.0.0", "--allow-downgrade", "blue", "green")
    run_command("lock", "-U", "blue")
    copied = text_of(Path("blue"))

    shown = run_command("promote", "--check", "blue", "green", "-o", "json")
    done = run_command("promote", "blue", "green")

    assert (shown.code, '"isCopy": true' in shown.stdout) == (3, True)
    assert (done.code, text_of(Path("green"))) == (0, copied)
    assert run_command("promote", "--check", "blue", "green").code == 0


@pytest.mark.usefixtures("world")
def test_where_the_inputs_differ_a_promotion_is_no_copy() -> None:
    shown = run_command("promote", "--check", "staging", "production", "-o", "json")

    assert (shown.code, '"isCopy": false' in shown.stdout) == (3, True)


@pytest.mark.usefixtures("world")
def test_a_commit_has_the_manifests_and_says_where_the_versions_are_from() -> None:
    before = head()

    done = run_command("promote", "--commit", "staging", "production")

    files = git(Path(), "show", "--name-only", "--format=", "HEAD").split()
    message = git(Path(), "log", "-1", "--format=%B")
    assert done.code == 0, done
    assert files == [f"production/{LOCK_FILE}", "production/xplock.yaml"]
    assert f"\nXplock-Promoted-From: {before} staging" in message
    assert git(Path(), "status", "--porcelain") == ""


@pytest.mark.usefixtures("world")
def test_what_cannot_be_committed_is_put_back() -> None:
    before = text_of(Path("production")), Path("production/xplock.yaml").read_text()
    git(Path(), "checkout", "-q", "-b", "side", "HEAD")
    (Path("production") / "extra.yaml").symlink_to("/nowhere/at-all.yaml")

    done = run_command("promote", "--commit", "--branch", "..", "staging", "production")

    assert done.code != 0
    assert (text_of(Path("production")), Path("production/xplock.yaml").read_text()) == before
