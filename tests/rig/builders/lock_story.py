"""The life of a lock, step by step: packages in memory, roots in few words, one lock made on top of the other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from render.folders.neighbours import NO_NEIGHBOURS, Neighbours
from render.inputs.projects import Inputs
from render.inputs.record import make_record
from render.lifecycle.plan import make_plan
from render.lifecycle.preferences import Upgrade, kept_candidates, pinned_digests
from render.lifecycle.resolve_with_moves import resolve_with_moves
from render.lifecycle.retiring.blockers import LockedFolder
from render.lifecycle.retiring.retire import retire_packages
from render.lifecycle.rules import check_plan
from render.lifecycle.states import Context, was_guarded
from render.lifecycle.update import LockOptions, update_lock
from render.lifecycle.write import make_lock
from render.limits import Limits
from render.lock.freshness import find_staleness
from render.lock.model import Lock, LockedPackage
from render.lock.text.format import format_lock
from render.lock.text.parse import parse_lock
from render.manifests.objects import render_objects
from render.moves import Move, Strategy
from render.packages import Kind
from render.resolve.model import Catalog, Wanted
from render.settings import Settings
from render.versions.requests import Root
from render.versions.version import parse_version
from rig.builders.catalogs import named, root, short


def move(old: str, *new: str, strategy: str | None = None) -> Move:
    """A `moves` entry of the settings."""
    return Move(
        named(old),
        tuple(map(named, new)),
        strategy=Strategy(strategy) if strategy else None,
        place="xplock.yaml: moves[0]",
    )


def wish(text: str, *, name: str | None = None, kind: Kind | None = None) -> Root:
    """A root: "app" for any version, "app v1.0.0" for one tag; with a name it is a manifest."""
    package, _, tag = text.partition(" ")
    return replace(root(package, tag=tag), name=name, kind=kind if kind else Kind.PROVIDER if name else None)


@dataclass
class Story:
    """A project whose roots and settings change, and whose lock follows."""

    catalog: Catalog
    settings: Settings = field(default_factory=lambda: Settings(crossplane_version=parse_version("v2.3.4")))
    current: Lock = field(default_factory=Lock)
    # Other folders of the same cluster.
    around: Neighbours = NO_NEIGHBOURS
    notes: tuple[str, ...] = ()
    inputs: Inputs | None = None
    # Whether each lock is written and read back; reading refuses some locks that a rule should have refused before.
    reread: bool = True
    # Whether each lock has to answer its inputs; not where a test leaves out a rule that makes it so.
    answers: bool = True

    def lock(self, *roots: str | Root, options: LockOptions | None = None, **settings: object) -> Lock:
        """Lock what is asked for now; settings that are named here stay from here on."""
        self.settings = replace(self.settings, **settings)  # type: ignore[arg-type]  # tests name settings
        if self.around.used:
            self.settings = replace(
                self.settings, uses=tuple((name, Path(name)) for name, _ in self.around.used)
            )
        asked = tuple(wish(one) if isinstance(one, str) else one for one in roots)
        # As the settings file would have it; what matters later is recorded.
        given = {} if self.settings.guard else {"guard": False}
        record = make_record(asked, (), replace(self.settings, given=given))
        self.inputs = Inputs(Path("project"), asked, self.settings, (), (), record)
        options = options or LockOptions()
        update = update_lock(self.inputs, self.current, self.catalog, Limits(), options, self.around)
        if not self.reread:
            self.current, self.notes = update.lock, update.notes
            return self.current
        # What is not in the file is not in the lock.
        text = format_lock(update.lock)
        self.current, self.notes = parse_lock(text, Limits(), place="crossplane.lock.yaml"), update.notes
        assert format_lock(self.current) == text
        # A lock that was just made answers the inputs that it was made for.
        assert not self.answers or find_staleness(self.current, self.inputs) == []
        return self.current

    def retire(self, *names: str) -> Lock:
        """Take packages one step further, as `xplock retire` does."""
        guard = self.settings.guard or was_guarded(self.current)
        folder = LockedFolder(".", self.current, guard, self.settings.crossplane_version)
        (retirement,) = retire_packages(names, [folder])
        self.current = parse_lock(format_lock(retirement.lock), Limits(), place="crossplane.lock.yaml")
        return self.current

    def rendered(self) -> list[dict[str, object]]:
        """Return the objects that the current lock makes."""
        assert self.inputs is not None
        return render_objects(self.current, self.inputs)

    def packages(self) -> dict[str, Any]:
        """Return the Providers, Configurations and Functions among them, by their names."""
        values: list[Any] = self.rendered()
        return {value["metadata"]["name"]: value for value in values if value["kind"] in tuple(Kind)}

    def pins(self) -> dict[str, str]:
        """Return what the pins among them lead to, by the reference that each is for."""
        values: list[Any] = [value for value in self.rendered() if value["kind"] == "ImageConfig"]
        return {
            value["spec"]["matchImages"][0]["prefix"]: value["spec"]["rewriteImage"]["prefix"]
            for value in values
        }


def states(lock: Lock) -> dict[str, str]:
    """Return version and state of everything that a lock renders, by short names."""
    active = {short(source): _told(package) for source, package in lock.packages.items()}
    off = {short(source): _told(package) for source, package in lock.deactivated.items()}
    return {**active, **off}


def detached(lock: Lock) -> set[str]:
    """Return who is detached, by short names."""
    return {short(source) for source, package in lock.packages.items() if package.detached}


def objects_of(lock: Lock) -> Mapping[str, str]:
    """Return the object names of everything that a lock renders, by the short source that the cluster knows."""
    return {short(package.cluster_source): package.object_name for package in lock.installed()}


def only(packages: Sequence[LockedPackage]) -> LockedPackage:
    """Return the one package of a list."""
    (package,) = packages
    return package


def _told(package: LockedPackage) -> str:
    words = [
        package.version,
        package.state if package.state != "wanted" else "",
        "released" if package.released else "",
    ]
    return " ".join(word for word in words if word)


def is_guarded(value: Any) -> bool:
    """Return whether a manifest keeps its object from being pruned, by Argo CD and by Flux."""
    annotations = value["metadata"].get("annotations", {})
    options = annotations.get("argocd.argoproj.io/sync-options", "").split(",")
    flux = annotations.get("kustomize.toolkit.fluxcd.io/prune") == "disabled"
    assert flux is ("Prune=false" in options)
    return flux


def made_lock(
    catalog: Catalog,
    *roots: Root,
    before: Lock | None = None,
    settings: Settings | None = None,
    moves: Iterable[Move] = (),
    record: Mapping[str, str] | None = None,
) -> Lock:
    """Return the lock that the pipeline makes of a resolution."""
    before, settings = before or Lock(), settings or Settings()
    kept, _ = kept_candidates(before, Upgrade())
    wanted = Wanted(roots, preferred=kept, pinned=pinned_digests(before, kept))
    context = Context(before, replace(settings, moves=tuple(moves)), record or {})
    answer = resolve_with_moves(wanted, context, catalog, Limits())
    return make_lock(check_plan(make_plan(answer, context)))
