"""The plugin committing to repositories of every shape: what the lock is made from, and what is never run or followed."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from rig.argocd.plugin_calls import SECONDS, Fleet, committed, new_fleet, refused
from rig.builders.projects import World, text_of
from rig.git.repositories import (
    AS_IN_A_SIDECAR,
    REAL_GIT,
    SIDECAR_USER,
    check_integrity,
    git,
    git_in_between,
    give,
    new_repository,
    paths_in,
    public_folder,
    save,
    text_at,
    write_program,
)

from render.cli.run import run
from render.system.files import LOCK_FILE

PATH = f"clusters/shop/{LOCK_FILE}"
PROVIDER = """\
apiVersion: pkg.crossplane.io/v1
kind: Configuration
metadata:
  name: {name}
spec:
  package: xpkg.example.org/acme/{name}:{version}
"""


def locked_here(fleet: Fleet, path: str = "clusters/shop") -> bytes:
    """Return the lock that `xplock lock` writes for a folder of the clone."""
    assert run(["-q", "lock", str(fleet.clone / path)]) == 0
    text = text_of(fleet.clone / path)
    (fleet.clone / path / LOCK_FILE).unlink()
    return text


# What is read


@pytest.fixture
def kustomized(fleet: Fleet) -> Fleet:
    """A project that is built from a base elsewhere in the repository."""
    fleet.ask()
    base = fleet.clone / "base"
    base.mkdir()
    (base / "kustomization.yaml").write_text("resources: [app.yaml]\n")
    (base / "app.yaml").write_text(PROVIDER.format(name="app", version="v1.0.0"))
    (fleet.folder / "kustomization.yaml").write_text("resources: [../../base]\n")
    fleet.push()
    return fleet


def test_a_kustomized_folder_is_locked_as_it_is_built(kustomized: Fleet) -> None:
    before = kustomized.tip

    done = kustomized.generate()

    assert (kustomized.commits_since(before), done) == (1, committed(kustomized.tip))
    assert text_at(kustomized.server, "main", PATH) == locked_here(kustomized)
    kustomized.pull()
    assert kustomized.generate().code == 0


def test_a_kustomized_folder_whose_base_has_changed_at_the_tip_gets_no_lock(kustomized: Fleet) -> None:
    old = kustomized.tip
    (kustomized.clone / "base/app.yaml").write_text(PROVIDER.format(name="app", version="v2.0.0"))
    before = kustomized.push()
    git(kustomized.clone, "checkout", "--quiet", old)

    done = kustomized.generate()

    assert (kustomized.tip, done) == (
        before,
        refused("what is asked for is another thing at the tip of branch main"),
    )


def test_a_kustomized_folder_whose_base_changes_after_our_commit_is_locked_again(kustomized: Fleet) -> None:
    kustomized.generate()
    kustomized.pull()
    (kustomized.clone / "base/app.yaml").write_text(PROVIDER.format(name="app", version="v2.0.0"))
    before = kustomized.push()

    done = kustomized.generate()

    assert (kustomized.commits_since(before), done) == (1, committed(kustomized.tip))
    assert b"version: v2.0.0" in text_at(kustomized.server, "main", PATH)


def test_locks_of_other_folders_do_not_matter_to_a_kustomized_one(kustomized: Fleet) -> None:
    kustomized.ask("tool:v1.0.0", path="clusters/other")
    old = kustomized.push()
    kustomized.generate("clusters/other")
    assert kustomized.commits_since(old) == 1

    done = kustomized.generate()

    assert done == committed(kustomized.tip)


@pytest.fixture
def linked(fleet: Fleet) -> Fleet:
    """A project whose root is a link into a folder below it."""
    fleet.ask()
    (fleet.folder / "files").mkdir()
    (fleet.folder / "files/app.yaml").write_text(PROVIDER.format(name="app", version="v1.0.0"))
    (fleet.folder / "app.yaml").symlink_to("files/app.yaml")
    fleet.push()
    return fleet


def test_a_link_within_the_folder_is_read_and_what_it_leads_to_counts(linked: Fleet) -> None:
    first = linked.generate()
    one = linked.tip
    linked.pull()
    (linked.folder / "files/app.yaml").write_text(PROVIDER.format(name="app", version="v2.0.0"))
    linked.push()

    second = linked.generate()

    assert (first, second) == (committed(one), committed(linked.tip))
    assert b"version: v2.0.0" in text_at(linked.server, "main", PATH)


def test_what_a_link_leads_to_is_not_what_was_asked_for_if_it_has_changed(linked: Fleet) -> None:
    old = linked.tip
    (linked.folder / "files/app.yaml").write_text(PROVIDER.format(name="app", version="v2.0.0"))
    before = linked.push()
    git(linked.clone, "checkout", "--quiet", old)

    done = linked.generate()

    assert (linked.tip, done) == (
        before,
        refused("what is asked for is another thing at the tip of branch main"),
    )


def test_a_link_to_a_used_folder_that_leads_elsewhere_at_the_tip_is_another_thing(fleet: Fleet) -> None:
    for version in ("v1.0.0", "v1.1.0"):
        folder = fleet.ask(f"base:{version}", path=f"platforms/{version}")
        assert run(["-q", "lock", str(folder)]) == 0
    link = fleet.clone / "clusters/platform"
    link.symlink_to("../platforms/v1.0.0")
    fleet.ask("app:v1.0.0", more="uses: [../platform]\n")
    old = fleet.push()
    link.unlink()
    link.symlink_to("../platforms/v1.1.0")
    before = fleet.push()
    git(fleet.clone, "checkout", "--quiet", old)

    done = fleet.generate()

    assert fleet.tip == before
    assert done == refused("what is asked for is another thing at the tip of branch main")


def test_links_elsewhere_in_the_tree_are_not_followed(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (fleet.clone / "out").symlink_to(tmp_path / "outside")
    (fleet.clone / "nowhere").symlink_to("missing")
    (fleet.clone / "up").symlink_to("../../..")
    fleet.push()

    done = fleet.generate()

    assert done == committed(fleet.tip)
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_folder_that_is_a_link_at_the_tip_gets_no_lock(fleet: Fleet, tmp_path: Path) -> None:
    shutil.copytree(fleet.folder, tmp_path / "outside")
    (fleet.clone / "clusters/link").symlink_to(tmp_path / "outside")
    before = fleet.push()

    done = fleet.generate("clusters/link")

    assert (fleet.tip, done) == (
        before,
        refused("branch main has no folder clusters/link/", path="clusters/link"),
    )
    assert [path.name for path in (tmp_path / "outside").iterdir()] == ["xplock.yaml"]


def test_a_link_in_the_place_of_the_lock_is_not_written_through(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("mine\n")
    (fleet.folder / LOCK_FILE).symlink_to(tmp_path / "outside")
    before = fleet.push()

    done = fleet.generate()

    assert (fleet.tip, done.code, done.output) == (before, 1, "")
    assert done.errors.startswith(
        f"error: {LOCK_FILE} is neither read nor written\n  why:  it is a symbolic link\n"
    )
    assert (tmp_path / "outside").read_text() == "mine\n"


def test_a_branch_whose_tip_cannot_be_read_is_told_as_the_branchs_fault(fleet: Fleet) -> None:
    old = fleet.tip
    (fleet.folder / "broken.yaml").write_text("a: [\n")
    before = fleet.push()
    git(fleet.clone, "checkout", "--quiet", old)

    done = fleet.generate()

    assert (fleet.tip, done.code, done.output) == (before, 3, "")
    assert "the folder cannot be read at the tip of branch main: " in done.errors
    assert "broken.yaml" in done.errors


def test_what_does_not_build_at_the_tip_is_told_in_the_same_words_every_time(fleet: Fleet) -> None:
    old = fleet.tip
    (fleet.clone / "base").mkdir()
    (fleet.clone / "base/kustomization.yaml").write_text("patches: [{path: patch.yaml}]\n")
    (fleet.clone / "base/patch.yaml").write_text("{apiVersion: v1, kind: Odd, metadata: {name: nobody}}\n")
    (fleet.folder / "kustomization.yaml").write_text("resources: [../../base]\n")
    fleet.push()
    git(fleet.clone, "checkout", "--quiet", old)

    first, second = fleet.generate(), fleet.generate()

    assert first == second
    assert (first.code, first.output) == (3, "")
    assert "'../../base'" in first.errors and "xplock-" not in first.errors


# Programs


@pytest.fixture
def filtering(fleet: Fleet, tmp_path: Path) -> Path:
    """A mounted configuration with filters, as `git lfs install` leaves it; returns what would be there if one ran."""
    write_program(tmp_path / "filter", f"#!/bin/sh\ntouch {tmp_path}/ran\nexec cat\n")
    keys = "".join(f"\t{key} = {tmp_path}/filter\n" for key in ("clean", "smudge", "process"))
    with (tmp_path / "gitconfig").open("a") as file:
        file.write(f'[filter "lfs"]\n{keys}\trequired = true\n[filter "a=b"]\n{keys}\trequired = true\n')
    (fleet.clone / ".gitattributes").write_text("*.yaml filter=lfs\nREADME filter=a=b\n")
    fleet.push()
    return tmp_path / "ran"


def test_filters_are_not_run(fleet: Fleet, filtering: Path) -> None:
    done = fleet.generate()

    assert done == committed(fleet.tip)
    assert text_at(fleet.server, "main", PATH) == locked_here(fleet)
    assert not filtering.exists()


def test_a_pointer_in_the_place_of_a_file_is_told(fleet: Fleet, filtering: Path) -> None:
    real = (fleet.folder / "xplock.yaml").read_text()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 120\n"
    (fleet.folder / "xplock.yaml").write_text(pointer)
    before = fleet.push()
    # As Argo CD has it, whose own git ran the filter.
    (fleet.folder / "xplock.yaml").write_text(real)

    done = fleet.generate()

    assert (fleet.tip, done.code, done.output) == (before, 3, "")
    assert "the folder cannot be read at the tip of branch main: " in done.errors
    assert not filtering.exists()


def test_hooks_and_other_programs_of_the_mounted_configuration_are_not_run(
    fleet: Fleet, tmp_path: Path
) -> None:
    canary = tmp_path / "ran"
    write_program(tmp_path / "program", f"#!/bin/sh\ntouch {canary}\nexec cat\n")
    for hook in ("pre-push", "post-checkout", "reference-transaction", "post-index-change", "pre-commit"):
        write_program(tmp_path / "hooks" / hook, f"#!/bin/sh\ntouch {canary}\n")
    # What stands for the server runs with the same configuration, and would ask them.
    git(fleet.server, "config", "core.hooksPath", str(fleet.server / "hooks"))
    with (tmp_path / "gitconfig").open("a") as file:
        file.write(f"[core]\n\thooksPath = {tmp_path}/hooks\n\tfsmonitor = {tmp_path}/program\n")
        file.write(f"[gpg]\n\tprogram = {tmp_path}/program\n[commit]\n\tgpgSign = true\n")
        file.write(f"[init]\n\ttemplateDir = {tmp_path}\n[push]\n\tgpgSign = if-asked\n")

    done = fleet.generate()

    assert done == committed(fleet.tip)
    assert not canary.exists()


def test_a_git_that_does_not_listen_ends_with_the_call(fleet: Fleet, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pid")
    deaf = f"trap '' TERM; echo $$ > {tmp_path}/pid; exec sleep 600"
    path = git_in_between(tmp_path / "bin", f'case " $* " in *" ls-remote "*) {deaf};; esac')
    plugin = fleet.start(PATH=path)
    pid = int((tmp_path / "pid").read_text())

    plugin.send_signal(signal.SIGTERM)
    output, errors = plugin.communicate(timeout=SECONDS)

    assert (plugin.returncode, output, errors) == (1, "", "error: stopped before the manifests were ready\n")
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


# Kinds of repositories


def test_a_repository_with_longer_hashes_is_committed_to(tmp_path: Path, world: World) -> None:
    fleet = new_fleet(tmp_path, world, "--object-format=sha256")
    before = fleet.tip

    done = fleet.generate()

    assert len(before) == 64
    assert (fleet.commits_since(before), done) == (1, committed(fleet.tip))
    fleet.pull()
    assert fleet.generate().code == 0


def test_a_submodule_beside_the_folder_is_left_alone(fleet: Fleet, tmp_path: Path) -> None:
    other = new_repository(tmp_path / "other")
    fleet_file = other / "xplock.yaml"
    fleet_file.write_text((fleet.folder / "xplock.yaml").read_text())
    pinned = save(other)
    git(fleet.clone, "submodule", "--quiet", "add", f"file://{other}", "modules/other")
    fleet.push()

    beside = fleet.generate()
    tip = fleet.tip
    inside = fleet.generate("modules/other")

    assert beside == committed(tip)
    assert git(fleet.server, "rev-parse", "main:modules/other") == pinned
    # The commit that Argo CD has is that of the repository around it.
    assert (fleet.tip, inside.code, inside.output) == (tip, 3, "")
    assert paths_in(fleet.server, "main") == [PATH]


def test_the_submodules_own_folder_is_not_on_the_branch(fleet: Fleet, tmp_path: Path) -> None:
    other = new_repository(tmp_path / "other")
    (other / "xplock.yaml").write_text((fleet.folder / "xplock.yaml").read_text())
    save(other)
    git(fleet.clone, "submodule", "--quiet", "add", f"file://{other}", "module")
    before = fleet.push()
    (fleet.clone / "module/deep").mkdir()
    (fleet.clone / "module/deep/xplock.yaml").write_text((fleet.folder / "xplock.yaml").read_text())

    done = fleet.generate("module/deep", ARGOCD_APP_REVISION=before)

    assert (fleet.tip, done) == (
        before,
        refused("branch main has no folder module/deep/", path="module/deep"),
    )


def test_a_long_history_is_committed_to_from_its_last_commits(fleet: Fleet) -> None:
    old = fleet.tip
    _import_commits(fleet.server, 3_000)
    git(fleet.clone, "pull", "--quiet", "--ff-only", "origin", "main")
    before = fleet.tip

    done = fleet.generate()
    far = fleet.generate(ARGOCD_APP_REVISION=old)

    assert (fleet.commits_since(before), done) == (1, committed(fleet.tip))
    assert far == refused(
        f"{old} is not among the last 100 commits of branch main (XPLOCK_LIMIT_BRANCH_COMMITS)"
    )
    check_integrity(fleet.server)


def _import_commits(server: Path, count: int) -> None:
    who = "committer Robin <robin@example.org> 1700000000 +0000\n"
    first = f"commit refs/heads/main\n{who}data 1\nxfrom refs/heads/main^0\nM 100644 inline n\ndata 1\n0\n"
    rest = [
        f"commit refs/heads/main\n{who}data 1\nxM 100644 inline n\ndata 4\n{n:04}\n" for n in range(1, count)
    ]
    text = "".join([first, *rest]).encode()
    subprocess.run([REAL_GIT, "fast-import", "--quiet"], cwd=server, input=text, check=True, timeout=120)


@pytest.mark.parametrize(
    "path", ["clusters/größe mit leerzeichen", "-x/--output=y", "店/:(top)*", "a'b\"c/$HOME"]
)
def test_a_folder_may_be_called_anything_that_people_can_see(fleet: Fleet, path: str) -> None:
    fleet.ask("app:v1.0.0", path=path)
    before = fleet.push()

    done = fleet.generate(path)

    assert (fleet.commits_since(before), done) == (1, committed(fleet.tip))
    assert text_at(fleet.server, "main", f"{path}/{LOCK_FILE}") == locked_here(fleet, path)
    fleet.pull()
    assert fleet.generate(path).code == 0


def test_line_ends_that_git_writes_change_nothing(fleet: Fleet) -> None:
    (fleet.clone / ".gitattributes").write_text("*.yaml text eol=crlf\n")
    fleet.push()

    done = fleet.generate()

    assert done == committed(fleet.tip)
    assert b"\r" not in text_at(fleet.server, "main", PATH)
    fleet.pull()
    assert b"\r\n" in (fleet.folder / LOCK_FILE).read_bytes()
    assert fleet.generate().code == 0


# A sidecar


def test_a_user_whom_nobody_knows_and_who_has_no_home_commits(world: World) -> None:
    with public_folder() as folder:
        fleet = new_fleet(folder, world)
        (folder / "temporary").mkdir()
        give(SIDECAR_USER, folder / "temporary", fleet.server)

        done = fleet.generate(
            before=AS_IN_A_SIDECAR, without=("HOME", "XDG_CACHE_HOME"), TMPDIR=str(folder / "temporary")
        )

        give(0, fleet.server)
        assert done == committed(fleet.tip)
        assert list((folder / "temporary").iterdir()) == []


def test_a_tree_without_its_repository_is_enough(fleet: Fleet) -> None:
    revision = fleet.tip
    shutil.rmtree(fleet.clone / ".git")

    done = fleet.generate(ARGOCD_APP_REVISION=revision)

    assert done == committed(fleet.tip)


def test_without_git_in_the_sidecar_it_says_so(fleet: Fleet, tmp_path: Path) -> None:
    done = fleet.generate(PATH=str(tmp_path / "nothing"))

    assert done == refused(f"git cannot work in {fleet.url}; git is not installed")
