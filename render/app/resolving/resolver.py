"""Resolving a folder: inputs, current lock and other folders in, the new lock out; nothing is written."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from render.app.head_start import HeadStart
from render.app.operator_settings import OperatorSettings
from render.app.reporter import Reporter
from render.app.resolving.alike import Alike
from render.app.resolving.locked_tags import TagChecks
from render.app.resolving.notes import note_incomplete, note_moved_below
from render.app.resolving.outcome import Outcome, ReadFolder
from render.app.resolving.watched import WatchedCatalog
from render.app.trust.policies import make_judge, read_policies
from render.commands import LockCall
from render.crossplane import note_on_crossplane
from render.errors import RenderError, Unavailable, Unsatisfiable, in_one_line
from render.folders.neighbours import Neighbours, read_neighbours
from render.folders.provided import find_unsuited
from render.inputs.folders import list_jsonnet_files
from render.inputs.projects import Edits, Inputs, NothingAsked, read_inputs
from render.lifecycle.preferences import LockedTags, LockedVersions
from render.lifecycle.update import (
    CurrentLock,
    LockOptions,
    LockUpdate,
    is_current,
    read_current,
    update_lock,
)
from render.lock.definitions import keep_without_digests
from render.lock.model import FORMAT_REVISION, Lock, State
from render.lock.policies import require_allowed, require_led_well
from render.lock.text.file import read_lock_bytes
from render.lock.text.format import check_revision, format_lock
from render.policy.model import Policy
from render.references import Digest, Reference
from render.resolve.model import Catalog
from render.system.clock import read_clock
from render.system.deadline import Deadline
from render.system.files import LOCK_FILE

if TYPE_CHECKING:
    from render.app.trust.evidence import KnownSignatures
    from render.app.world import World
    from render.xpkg.catalog import Catalog as PackageCatalog

_FOLLOW_INPUTS = LockOptions()


class Resolver:
    """Resolves folders; opens connections only when it needs them, and keeps them for the next folder."""

    def __init__(
        self,
        operator: OperatorSettings,
        reporter: Reporter,
        layouts: Sequence[tuple[str, Path]] = (),
        *,
        offline: bool = False,
        options: LockOptions = _FOLLOW_INPUTS,
        new: bool = False,
        deadline: Deadline | None = None,
        in_memory: bool = False,
        confirm: bool = False,
        check: bool = False,
        head_start: HeadStart | None = None,
        clock: Callable[[], datetime] = read_clock,
    ) -> None:
        self.limits = operator.limits
        self._operator = operator
        self._reporter = reporter
        self._layouts = layouts
        self._offline = offline
        self._options = options
        self._new = new
        # The deadline of the whole call, where resolving is a part of it.
        self._deadline = deadline
        # Whether the new lock is only rendered, never written.
        self._in_memory = in_memory
        # Whether a fresh lock is resolved, too, to see that the same comes of it; and whether that has to work.
        self._confirm = confirm or check
        self._check = check
        self._head_start = head_start
        self._clock = clock
        self._world: World | None = head_start.world if head_start else None
        self._alike = Alike()
        # What was said of the first folder: a fleet would have it a thousand times.
        self._noted: set[str] = set()
        # Locks by their texts, which many folders have in common.
        self._parsed: dict[bytes, Lock] = {}

    def resolve(self, folder: Path) -> Outcome:
        """Resolve one folder, starting from its lock."""
        read = self.read(folder)
        return self.answer(read, self.neighbours(read))

    def neighbours(self, read: ReadFolder) -> Neighbours:
        """Return the other folders of the cluster that this one uses."""
        inputs = read.inputs
        return read_neighbours(
            inputs.folder, inputs.settings.uses, self.limits, boundary=self._operator.boundary
        )

    def render(self, folder: Path) -> list[dict[str, Any]]:
        """Resolve one folder, and return the objects that its new lock renders."""
        # Imported late: locking renders nothing.
        from render.manifests.objects import render_lock

        outcome = self.resolve(folder)
        return render_lock(outcome.after, outcome.inputs, self.limits, self._operator.environ)

    def read(self, folder: Path, edits: Edits | None = None) -> ReadFolder:
        """Read the inputs and the lock of a folder, as it will be after edits."""
        try:
            inputs = self._read_inputs(folder, edits)
        except NothingAsked:
            # If a lock was removed together with the roots, that is the error to report.
            self._read_current(folder)
            raise
        if self._new and not inputs.roots:
            raise NothingAsked(folder, self._operator.boundary)
        current = self._read_current(folder)
        for note in current.notes:
            self._reporter.say(note)
        for name in list_jsonnet_files(folder):
            self._reporter.warn(
                f"{folder / name} is not read: Argo CD's own directory source would evaluate it; write its output as YAML"
            )
        return ReadFolder(inputs, current, read_lock_bytes(folder, self.limits))

    def follow(self, options: LockOptions) -> None:
        """Use other options from now on."""
        self._options = options
        self._alike = Alike()

    def find_digests(
        self, inputs: Inputs, references: Sequence[Reference]
    ) -> dict[Reference, Digest | RenderError]:
        """Return the digests that tags name now, or why a tag has none."""
        return self._tags(inputs).digests(references)

    def _note_crossplane(self, inputs: Inputs, lock: Lock) -> None:
        """Report which Crossplane is assumed.

        Only a first lock and a changed version make it news; in every run it would be noise. `check` always has it.
        """
        note = note_on_crossplane(inputs.settings)
        key = "setting crossplaneVersion"
        is_known = bool(lock.inputs) and lock.inputs.get(key) == inputs.record.get(key)
        if note and note not in self._noted and not (is_known or self._in_memory):
            self._noted.add(note)
            self._reporter.say(f"{inputs.folder}: {note}")
        elif note:
            self._reporter.trace(f"{inputs.folder}: {note}")

    def _read_current(self, folder: Path) -> CurrentLock:
        return read_current(folder, self.limits, self._parsed, new=self._new, in_memory=self._in_memory)

    def _read_inputs(self, folder: Path, edits: Edits | None) -> Inputs:
        if edits is None and self._head_start and self._head_start.inputs.folder == folder:
            return self._head_start.inputs
        environ, boundary = self._operator.environ, self._operator.boundary
        return read_inputs(folder, self.limits, environ, boundary, edits or Edits())

    def answer(self, read: ReadFolder, around: Neighbours) -> Outcome:
        """Resolve a folder among the other folders of its cluster."""
        outcome = self._alike.find(read, around)
        if outcome is None:
            outcome = self._answer(read, around)
            self._alike.keep(read, around, outcome)
        below = note_moved_below(read.inputs.folder, outcome.before, outcome.after, self.limits)
        for note in below:
            self._reporter.warn(note)
        # Only of what worked: an error is more important.
        self._note_crossplane(read.inputs, read.current.lock)
        return replace(outcome, notes=(*outcome.notes, *below))

    def _answer(self, read: ReadFolder, around: Neighbours) -> Outcome:
        inputs, current = read.inputs, read.current
        fresh = (
            not current.merged
            and not self._options.asks_for_more
            and is_current(current.lock, inputs, around)
        )
        if fresh and not self._confirms(current.lock):
            return read.unchanged()
        check_revision(current.lock)
        resolve = self._confirm_lock if fresh else self._update_lock
        after, notes = resolve(inputs, current.lock, around)
        unsuited = find_unsuited(current.lock, around.after_moves(inputs.settings.moves, current.lock))
        text = format_lock(after).encode()
        return Outcome(inputs, current.lock, after, read.text, text, tuple(unsuited), notes)

    def _confirms(self, lock: Lock) -> bool:
        # A lock of a newer xplock cannot be written, and so not be compared.
        if not self._check and self._operator.has_policy:
            return lock.revision <= FORMAT_REVISION
        return self._check or (self._confirm and lock.revision <= FORMAT_REVISION)

    def promote(self, read: ReadFolder, around: Neighbours, bound: Lock) -> LockUpdate:
        """Resolve a folder with the versions of a lock and no others; registries are asked for nothing else."""
        check_revision(read.current.lock)
        catalog = LockedVersions(self.catalog(read.inputs), bound)
        return self._resolve(read.inputs, read.current.lock, around, catalog)

    def _confirm_lock(self, inputs: Inputs, lock: Lock, around: Neighbours) -> tuple[Lock, tuple[str, ...]]:
        """Resolve a fresh lock from its own versions, and search among all only if another lock comes of it.

        Locked versions are preferred, so the search cannot find others where these fit. No list of tags is needed
        for that, and packages are known by their digests: with a warm cache no registry is asked.
        """
        catalog = self.catalog(inputs)
        try:
            update = self._resolve(inputs, lock, around, LockedVersions(catalog, lock))
        except Unsatisfiable:
            return self._update_lock(inputs, lock, around)
        except Unavailable as error:
            if self._check:
                raise
            # It answers the inputs all the same, and a registry that is down must not get in the way.
            policies = read_policies(self._operator, inputs.settings)
            require_allowed(lock, policies, inputs)
            self._reporter.warn(
                f"{inputs.folder / LOCK_FILE} stays unconfirmed: {in_one_line(error, advice=False)}"
            )
            return lock, ()
        tags = self._tags(inputs)
        gone = tags.missing(update.lock, [State.WANTED])
        if update.lock != lock or gone:
            return self._update_lock(inputs, lock, around)
        after, notes = tags.without_missing(lock)
        for note in notes:
            self._reporter.warn(note)
        return after, tuple(notes)

    def _update_lock(self, inputs: Inputs, current: Lock, around: Neighbours) -> tuple[Lock, tuple[str, ...]]:
        catalog, tags = self.catalog(inputs), self._tags(inputs)
        if self._offline:
            known = LockedTags(catalog, current)
            update = self._resolve(inputs, current, around, known)
            about_tags = note_incomplete(known)
        else:
            update = self._resolve(inputs, current, around, catalog)
            call = self._options.call or LockCall((str(inputs.folder),))
            about_tags = tags.moved(current, update.lock, call)
        after, lost = tags.without_missing(update.lock)
        notes = (*update.notes, *about_tags, *lost)
        for note in notes:
            self._reporter.warn(note)
        return after, notes

    def _tags(self, inputs: Inputs) -> TagChecks:
        known = self.catalog(inputs, offline=True)
        return TagChecks(known, None if self._offline else self.catalog(inputs), self.limits.parallel)

    def _resolve(self, inputs: Inputs, current: Lock, around: Neighbours, catalog: Catalog) -> LockUpdate:
        policies = read_policies(self._operator, inputs.settings)
        require_led_well(policies, inputs)
        signatures = self._signatures(policies, inputs, current)
        catalogs = self.catalog(inputs), None if self._offline else self._direct_catalog()
        judge = make_judge(policies, inputs, current, self._clock, signatures, *catalogs)
        options = replace(self._options, judge=judge)
        with self._reporter.progress(f"resolving {inputs.folder}") as progress:
            watched = WatchedCatalog(catalog, progress, self._head_start_of(inputs), judge)
            update = update_lock(inputs, current, watched, self.limits, options, around)
        return replace(update, lock=keep_without_digests(current, update.lock))

    def _signatures(
        self, policies: Sequence[Policy], inputs: Inputs, current: Lock
    ) -> "KnownSignatures | None":
        if not any(policy.needs_signatures for policy in policies):
            return None
        # Imported late: few policies ask for signatures.
        from render.app.trust.evidence import LockedSignatures, open_signatures

        catalog = self.catalog(inputs)
        if self._offline or self._world is None:
            return LockedSignatures(current)
        return open_signatures(self._world, [*self._layouts, *inputs.settings.layouts], catalog, policies)

    def catalog(self, inputs: Inputs, *, offline: bool = False) -> "PackageCatalog":
        """Return the packages that a folder can have, by their sources in the cluster."""
        layouts = [*self._layouts, *inputs.settings.layouts]
        return self._open_world().catalog(layouts, inputs.rewrites, offline=offline or self._offline)

    def _direct_catalog(self) -> "PackageCatalog":
        """Return packages as their registries have them, wherever a project says that they are."""
        return self._open_world().catalog(self._layouts, ())

    def _open_world(self) -> "World":
        # Imported late: a lock that is up to date needs no HTTP.
        from render.app.world import open_world

        if self._world is None:
            self._world = open_world(self._operator, self._reporter, deadline=self._deadline)
        return self._world

    def _head_start_of(self, inputs: Inputs) -> HeadStart | None:
        # Another folder may have other rewrites.
        return self._head_start if self._head_start and self._head_start.inputs is inputs else None
