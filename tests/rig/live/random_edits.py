"""A folder of real packages that its owner edits again and again, and the cluster that follows."""

import json
from collections.abc import Sequence
from pathlib import Path

from render.limits import Limits
from render.lock.model import Lock
from render.lock.text.file import read_lock
from render.moves import Move
from render.packages import Kind
from render.settings import SETTINGS_FILE
from render.system.files import LOCK_FILE
from render.xpkg.building.build import build_package
from render.xpkg.building.packing import PackedImage
from rig.builders.ecosystem import PackageVersion
from rig.builders.packages import write_files
from rig.builds.recipes import CROSSPLANE
from rig.commands.refusals import Refusal, parse_refusal
from rig.edits.folders import Folder
from rig.edits.owner import Owner, Step, take_step
from rig.edits.real_packages import Offer, definitions
from rig.git.repositories import git
from rig.live.invariants import Sound
from rig.live.manifests import package_manifest
from rig.live.package_registry import format_crd, format_xrd
from rig.live.platform import LiveCluster

_REGISTRY_FILE = "registry.yaml"
_OWN_BUG = 70


class Soak:
    """A team whose folder is edited at random; the same seed makes the same edits."""

    def __init__(self, cluster: LiveCluster, offer: Offer, seed: int) -> None:
        cluster.registry.push({one.reference: _build(one, cluster.folder) for one in offer.released()})
        self._owner, self._seed = Owner(offer), seed
        self._team = cluster.team("soak")
        hosts = sorted({source.partition("/")[0] for source in offer.versions})
        configs = [cluster.registry.image_config(host, team=host.replace(".", "-")) for host in hosts]
        self._team.write(_REGISTRY_FILE, "---\n".join(configs))
        self._folder = Folder()
        self._sound = Sound(cluster, self._team, lambda source: definitions(offer.versions[source][0]))

    @property
    def folder(self) -> Folder:
        """What the owner has written."""
        return self._folder

    @property
    def lock(self) -> Lock:
        """The lock as it is now."""
        return read_lock(self._team.folder, Limits()) or Lock()

    def step(self, number: int) -> Step:
        """Edit the folder, push and sync what comes out of it, and see that the cluster is sound."""
        step = take_step(self, self._owner, seed=self._seed, number=number)
        changed = git(self._team.root, "status", "--porcelain")
        assert changed or not step.kinds, f"seed {self._seed}, {step}\nnothing was written"
        if changed and not step.refused:
            try:
                self._sync(step)
            except AssertionError as error:
                raise AssertionError(f"seed {self._seed}, {step}\n{error}") from error
        return step

    def write(self, folder: Folder) -> Refusal | None:
        """Write something else and lock it; what is refused is taken back."""
        self._write_files(folder)
        refused = self._try("lock", "--allow-downgrade", *(["--upgrade"] if folder.upgrade else []))
        if refused:
            self._write_files(self._folder)
            return refused
        self._folder = Folder(folder.roots, folder.moves)
        return None

    def retire(self, names: Sequence[str]) -> Refusal | None:
        """Retire packages, one step, unless that is refused."""
        # Every step before this one was synced.
        return self._try("retire", *names, "--synced", "--delete-objects")

    def _sync(self, step: Step) -> None:
        with self._sound.watching():
            # What was advised may be the folder of before, and its lock can still change after a sync.
            commit = self._team.commit_and_push(step.what or "lock again")
            self._team.application.wait_synced(commit)
            self._sound.check(self.lock)

    def _try(self, *command: str) -> Refusal | None:
        done = self._team.try_xplock(*command)
        assert done.returncode != _OWN_BUG, done.stderr
        return parse_refusal(done.returncode, done.stderr) if done.returncode else None

    def _write_files(self, folder: Folder) -> None:
        for path in self._team.folder.iterdir():
            if path.name not in (LOCK_FILE, _REGISTRY_FILE):
                path.unlink()
        for name, text in _files(folder).items():
            self._team.write(name, text)


def _files(folder: Folder) -> dict[str, str]:
    """Return what the owner has written, by the names of files."""
    roots, manifests = [], {}
    for source, wish in folder.roots.items():
        package = f"{source}:{wish.request.tag}" if wish.request.tag else source
        if wish.name and wish.kind:
            manifests[f"{wish.name}.yaml"] = package_manifest(wish.kind, wish.name, package)
        else:
            roots.append({"package": package})
    moves = [_move(move) for move in folder.moves.values()]
    settings = {"crossplaneVersion": CROSSPLANE.version, "roots": roots, "moves": moves}
    return {SETTINGS_FILE: json.dumps(settings, indent=2) + "\n", **manifests}


def _move(move: Move) -> dict[str, object]:
    strategy = {"strategy": move.strategy} if move.strategy else {}
    return {"from": str(move.source), "to": [str(target) for target in move.targets], **strategy}


def _build(version: PackageVersion, scratch: Path) -> PackedImage:
    """Build a version with definitions that a real cluster takes."""
    meta = json.loads(version.files["crossplane.yaml"])
    # Two versions that say the same have other bytes all the same.
    meta["metadata"]["annotations"] = {"version": version.tag}
    write = format_crd if version.kind is Kind.PROVIDER else format_xrd
    files = {"crossplane.yaml": json.dumps(meta)}
    files |= {f"{name}.yaml": write(name) for name in definitions(version)}
    return build_package(write_files(scratch / "build" / str(version.reference), files), Limits()).image
