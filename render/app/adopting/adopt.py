"""A cluster → a folder that changes nothing in it: what is asked for is found, locked, rendered and compared. Read first.

Nothing is written here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from render.app.adopting.choices import AdoptChoices, match_digests, select_packages
from render.app.adopting.folder import TargetFolder, read_target
from render.app.operator_settings import OperatorSettings
from render.app.resolving.outcome import Outcome, ReadFolder
from render.app.resolving.resolver import Resolver
from render.commands import xplock
from render.errors import InvalidInput, Unsatisfiable
from render.folders.neighbours import Neighbours, read_neighbours
from render.inputs.projects import Inputs
from render.lifecycle.update import CurrentLock, LockOptions
from render.live.adopting.commands import Commands
from render.live.adopting.comparison import compare_with_live
from render.live.adopting.digests import (
    NamingRule,
    assumed_crossplane,
    find_crossplane,
    find_rule,
    proving_rule,
)
from render.live.adopting.files import (
    config_manifest,
    file_name,
    find_configs,
    find_rewrites,
    format_settings,
    root_manifest,
)
from render.live.adopting.found import Found, find_packages
from render.live.adopting.model import Adoption
from render.live.adopting.owners import find_owners
from render.live.adopting.pins import is_all_pinned, note_pins
from render.live.adopting.refusals import (
    AdoptionRefused,
    Refusal,
    find_refusals,
    refuse_gone,
    refuse_moved,
    refuse_owned,
    refuse_unclear,
)
from render.live.adopting.roots import AdoptedRoot, find_roots
from render.live.adopting.warnings import find_warnings
from render.live.lock import LiveLock
from render.live.model import Cluster
from render.manifests.objects import render_lock
from render.references import Digest, Reference, Source
from render.settings import SETTINGS_FILE, PinMode
from render.system.files import LOCK_FILE
from render.texts import first_lines
from render.versions.version import Version
from render.yaml.writer import format_document

_SHOWN = 20
_STAYS_ATTACHED = "to keep a package attached, write spec.skipDependencyResolution: false in its manifest"


class NoLock(InvalidInput):
    """Objects of a cluster without its Lock."""

    def __init__(self) -> None:
        super().__init__(
            "the input has no Lock of Crossplane",
            why="only the Lock says which packages depend on which",
            next="read it, too: kubectl get locks.pkg.crossplane.io -o yaml",
        )


class NothingInstalled(InvalidInput):
    """A cluster with Crossplane, and without any package."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            "the cluster has no packages",
            why="it has a Lock of Crossplane, and no Provider, Configuration or Function",
            next=f"to start with a folder, run: {xplock('init', folder=folder)}",
        )


class WouldChange(Unsatisfiable):
    """A lock that would change the cluster that it was made from."""

    def __init__(self, changes: Sequence[str], commands: Commands) -> None:
        super().__init__(
            f"the lock would change {len(changes)} {'thing' if len(changes) == 1 else 'things'} in the cluster",
            why=first_lines(changes, _SHOWN),
            next=[
                *([_STAYS_ATTACHED] if any(".skipDependencyResolution " in line for line in changes) else []),
                "make these changes in the cluster first, or correct the manifests of the folder that ask for them",
                f"to see why a cluster does not agree with itself: {commands.doctor()}",
            ],
        )


def adopt(
    cluster: Cluster, choices: AdoptChoices, resolver: Resolver, operator: OperatorSettings
) -> Adoption:
    """Return the folder that takes over the packages of a cluster; raise if that would change anything there."""
    if cluster.lock is None:
        raise NoLock
    if not cluster.packages:
        raise NothingInstalled(choices.folder)
    target = read_target(choices, operator)
    everything, unclear = find_packages(cluster)
    packages = select_packages(choices.only, everything)
    around = read_neighbours(target.path, target.settings.uses, operator.limits)
    job = _Job(cluster, cluster.lock.lock, choices, target, resolver, operator, everything, packages, around)
    packages = job.packages
    digests, refusals = job.find_digests()
    refused = [
        *(refuse_unclear(unclear, choices.commands) if not choices.only else ()),
        *find_refusals(cluster, packages, everything, find_rule(packages, digests), choices.commands),
        *refusals,
        *refuse_owned(job.owned(), choices.commands),
    ]
    if refused:
        raise AdoptionRefused(refused)
    return job.lock(digests)


class _Job:
    """One adoption."""

    def __init__(
        self,
        cluster: Cluster,
        live: LiveLock,
        choices: AdoptChoices,
        target: TargetFolder,
        resolver: Resolver,
        operator: OperatorSettings,
        everything: Sequence[Found],
        packages: Sequence[Found],
        around: Neighbours,
    ) -> None:
        self._cluster = cluster
        self._live = live
        self._choices = choices
        self._target = target
        self._resolver = resolver
        self._operator = operator
        self._everything = everything
        self._around = around
        # A folder that is used keeps what it has locked, and this one what is leaving it.
        elsewhere = {one.cluster_source for _, lock in around.used for one in lock.installed()}
        elsewhere |= target.leaving
        self.packages = [one for one in packages if one.source not in elsewhere]
        self._roots = [root for root in find_roots(packages) if root.package.source not in elsewhere]
        configs = find_configs(cluster, self.packages)
        # What another tool owns stays its own; the folder only has to know its rewrites.
        self._configs = [one for one in configs if not find_owners(one.metadata)]
        self._foreign = [one for one in configs if find_owners(one.metadata)]

    def owned(self) -> Iterator[tuple[str, Any]]:
        """Yield the objects that the folder would own anew."""
        for one in self.packages:
            if one.source not in self._target.sources and one.source not in self._target.locked:
                yield one.resource, one.object.metadata

    def find_digests(self) -> tuple[dict[str, Digest], list[Refusal]]:
        """Return the digests of what runs, by the titles of packages, and the packages whose tags have moved."""
        known = match_digests(self._choices.installed, self.packages)
        for one in self.packages:
            if one.resolved_digest:
                known.setdefault(one.title, one.resolved_digest)
        asked = {
            one.title: Reference(one.source, one.reference.tag)
            for one in self.packages
            if one.title not in known and one.reference.tag and not one.reference.digest
        }
        inputs = self._target.inputs_for_fetching(find_rewrites([*self._configs, *self._foreign]))
        answers = self._resolver.find_digests(inputs, sorted(set(asked.values()), key=str))
        refusals = []
        for one in self.packages:
            if one.title not in asked:
                continue
            answer = answers[asked[one.title]]
            if isinstance(answer, Exception):
                refusals.append(refuse_gone(one, answer))
            elif proving_rule(one, answer) or self._choices.take_registry or not one.object.current_revision:
                known[one.title] = answer
            else:
                refusals.append(refuse_moved(one, answer))
        return known, refusals

    def lock(self, digests: Mapping[str, Digest]) -> Adoption:
        """Lock what runs, render it, and compare that with the cluster."""
        crossplane, notes = self._crossplane(digests)
        inputs, outcome = self._resolve(crossplane, digests)
        unasked = [one for one in self.packages if one.source not in outcome.after.packages]
        if unasked:
            # The Lock says that something depends on them, and no metadata of a package does.
            self._roots += [AdoptedRoot(one, "no package that is locked needs it") for one in unasked]
            inputs, outcome = self._resolve(crossplane, digests)
        rendered = render_lock(outcome.after, inputs, self._operator.limits, self._operator.environ)
        comparison = compare_with_live(rendered, self._cluster, ignored=self._target.installed)
        if comparison.changes:
            raise WouldChange(comparison.changes, self._choices.commands)
        asked = {root.package.source for root in self._roots}
        dependencies = [one for one in self.packages if one.source not in asked]
        files = {**self._files(crossplane), LOCK_FILE: outcome.text}
        unproven = [one.title for one in self.packages if not proving_rule(one, digests[one.title])]
        return Adoption(
            self._choices.folder,
            {name: data for name, data in files.items() if self._target.read(name) != data},
            tuple(self._roots),
            tuple(dependencies),
            outcome.after,
            comparison,
            inputs.settings.pin,
            tuple(unproven),
            (
                *self._cluster.notes,
                *notes,
                *find_warnings(self._roots, self.packages),
                *self._note_pins(inputs),
            ),
            outcome.notes,
        )

    def _note_pins(self, inputs: Inputs) -> Iterator[str]:
        if inputs.settings.pin is PinMode.TAG:
            yield from note_pins(self._cluster, self.packages)

    def _resolve(self, crossplane: Version | None, digests: Mapping[str, Digest]) -> tuple[Inputs, Outcome]:
        inputs = self._inputs(crossplane)
        before = _with_live_names(self._target.current, self._everything)
        self._resolver.follow(
            LockOptions(
                live=self._live,
                installed={
                    Reference(one.source, one.reference.tag): digests[one.title]
                    for one in self.packages
                    if one.reference.tag
                },
            )
        )
        return inputs, self._resolver.answer(
            ReadFolder(inputs, before, self._target.read(LOCK_FILE)), self._around
        )

    def _inputs(self, crossplane: Version | None) -> Inputs:
        return self._target.inputs(self._files(crossplane), self._operator)

    def _files(self, crossplane: Version | None) -> dict[str, bytes]:
        """Return the files besides the lock, without those that the folder has in another form."""
        manifests = [
            *(root_manifest(root) for root in self._roots if root.package.source not in self._target.sources),
            *(config_manifest(one) for one in self._configs if not self._target.has(one.kind, one.name)),
        ]
        files = {file_name(one): format_document(one).encode() for one in manifests}
        if not self._target.is_configured:
            is_pinned = is_all_pinned(self._cluster, self.packages)
            pin = self._choices.pin or (PinMode.DIGEST if is_pinned else PinMode.TAG)
            files[SETTINGS_FILE] = format_settings(crossplane, pin, find_rewrites(self._foreign)).encode()
        return files

    def _crossplane(self, digests: Mapping[str, Digest]) -> tuple[Version | None, list[str]]:
        """Return the version of Crossplane for the settings, and a note if it is only assumed."""
        if self._target.is_configured:
            return None, []
        known = find_crossplane(self._cluster)
        if known:
            return known, []
        rule = find_rule(self._everything, digests)
        if rule is None:
            return None, ["no revision shows which Crossplane this is; set crossplaneVersion in xplock.yaml"]
        assumed = assumed_crossplane(rule)
        order = "v2.3 or older" if rule is NamingRule.DIGEST else "v2.4 or newer"
        return assumed, [
            f"crossplaneVersion is set to {assumed}: revisions are named as by {order}; correct it in xplock.yaml"
        ]


def _with_live_names(current: CurrentLock, packages: Sequence[Found]) -> CurrentLock:
    """Return the lock of a folder, with the object names that the cluster has."""
    names: Mapping[Source, str] = {one.source: one.name for one in packages}
    renamed = {
        source: replace(package, object_name=names.get(package.cluster_source, package.object_name))
        for source, package in current.lock.packages.items()
    }
    return replace(current, lock=replace(current.lock, packages=renamed))
