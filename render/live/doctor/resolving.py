"""States of the resolver: it stops at one dependency for good, or its choice does not suit everyone."""

import re
from collections.abc import Iterator, Sequence

from render.live.doctor.case import Case, key_of, source_of
from render.live.doctor.commands import detach, kubectl, patch_spec, resource
from render.live.doctor.entering import shorten
from render.live.doctor.messages import INCOMPATIBLE, MISSING, NO_SEMVER, NO_VERSION, find_dependency
from render.live.doctor.model import Finding, ObjectKey, State, Trouble
from render.live.lock import LivePackage
from render.live.model import PAUSED, PackageObject
from render.names import object_name
from render.references import InvalidReference, is_digest, parse_dependency_source, split_tag
from render.resolve.mimic.graph import accepts, parse_loosely
from render.texts import first_names

_SHOWN = 5
_COMPLETE = re.compile(r"v?\d{1,9}\.\d{1,9}\.\d{1,9}(?:-[0-9A-Za-z.-]{1,64})?")
_NOT_INSTALLED = "what they need is not installed by this; correct it in a new version of the package"


def find_taken_names(case: Case) -> Iterator[Finding]:
    """Find dependencies whose derived name belongs to an object of another source; Crossplane takes it for theirs."""
    for source, entries in _missing(case).items():
        kinds = {edge.kind for entry in entries for edge in entry.edges if edge.package == source}
        taken = _taken_by(case, source, kinds)
        if taken is None or case.packages_with(source):
            continue
        troubles = _stopped(case, source)
        yield Finding(
            State.NAME_TAKEN,
            f"{source} is never installed: its object name belongs to {source_of(taken)}",
            (
                f"{taken.kind}/{taken.name} installs {taken.package}, and Crossplane takes it for {source}",
                f"needed by {first_names([one.source for one in entries], _SHOWN)}",
            ),
            _owner_of(case, entries[0]) or key_of(taken),
            tuple(detach(case, entries)),
            f"Crossplane does not check the dependencies of these packages any more; {_NOT_INSTALLED}",
            "use one registry for both, or lock with a move of one source to the other",
            (key_of(taken), *_owners_of(case, entries)),
            tuple(troubles),
        )


def _missing(case: Case) -> dict[str, list[LivePackage]]:
    """Return the sources that the Lock does not have, in the order in which Crossplane meets them, with who asks."""
    found: dict[str, list[LivePackage]] = {}
    for entry in case.entries:
        for edge in entry.edges:
            if (
                edge.package
                and edge.package not in case.by_source
                and entry not in found.get(edge.package, ())
            ):
                found.setdefault(edge.package, []).append(entry)
    return found


def _taken_by(case: Case, source: str, kinds: set[str]) -> PackageObject | None:
    try:
        name = object_name(parse_dependency_source(source))
    except InvalidReference:
        return None
    there = [case.packages.get((kind, name)) for kind in sorted(kinds or {"Provider"})]
    others = [one for one in there if one is not None and source_of(one) != source]
    # One with both tag and digest has its own state.
    return next((one for one in others if split_tag(source_of(one))[0] != source), None)


def _stopped(case: Case, source: str) -> list[Trouble]:
    """Return everything that waits for a source; all that is missing, if Crossplane stops at this one."""
    first = next(iter(_missing(case)), None)
    return case.open(*MISSING) if first == source else case.waiting_for(source)


def find_unfit(case: Case) -> Iterator[Finding]:
    """Find the dependency that no version satisfies: Crossplane stops there, and everything behind it waits."""
    condition = case.cluster.lock.conditions.get("Resolved") if case.cluster.lock else None
    if (
        condition is None
        or condition.status != "False"
        or not any(one in condition.message for one in NO_VERSION)
    ):
        return
    missing = _missing(case)
    named = find_dependency(condition.message)
    source = named or next(iter(missing), "")
    entries = missing.get(source) or case.dependants(source)
    wishes = [
        f"{entry.source} {entry.version} asks for {source} {edge.constraints}"
        for entry in entries
        for edge in entry.edges
        if edge.package == source
    ]
    yield Finding(
        State.NOTHING_FITS,
        f"Crossplane cannot serve the dependency on {source or 'a package'}; everything behind it waits",
        (shorten(condition.message), *wishes[:_SHOWN]),
        _owner_of(case, entries[0]) if entries else ("Lock", "lock"),
        _other_version(case, entries),
        _NOT_INSTALLED,
        "Crossplane goes on with the dependencies behind it",
        tuple(_owners_of(case, entries)) or (("Lock", "lock"),),
        tuple(case.open(*MISSING)),
    )


def _other_version(case: Case, entries: Sequence[LivePackage]) -> tuple[str, ...]:
    """Return commands that take a dependant to the version of the lock or to its earlier one; else they detach it."""
    found = []
    for entry in entries:
        for package in case.packages_with(entry.source):
            locked = case.locked(entry.source)
            better = [locked.cluster_reference if locked else "", case.earlier_image(package)]
            images = [one for one in better if one and one != package.package]
            if images:
                found.append(patch_spec(case, key_of(package), package=images[0]))
    return tuple(found) if len(found) == len(entries) and found else tuple(detach(case, entries))


def find_uncreated(case: Case) -> Iterator[Finding]:
    """Find the first dependency that has no object, where no condition says why: everything behind it waits."""
    for source, entries in _missing(case).items():
        waiting = case.waiting_for(source)
        if waiting:
            yield Finding(
                State.WAITS,
                f"{source} is missing, and Crossplane has not created it",
                tuple(
                    f"{entry.source} {entry.version} asks for {source} {edge.constraints}"
                    for entry in entries[:_SHOWN]
                    for edge in entry.edges
                    if edge.package == source
                ),
                _owner_of(case, entries[0]),
                (kubectl(case, "get", "lock.pkg", "lock", "-o", "jsonpath={.status.conditions}"),),
                "the source may be wrong or gone: then another version of what asks for it is needed",
                "while something is installed, this lasts a moment",
                tuple(_owners_of(case, entries)),
                tuple(_stopped(case, source)),
            )


def find_outdated_news(case: Case) -> Iterator[Finding]:
    """Find packages that report dependencies as missing which the Lock has: they were not looked at since."""
    for trouble in case.open(*MISSING):
        if case.entries and not case.missing_of(trouble):
            yield Finding(
                State.WAITS,
                f"{trouble.package[0]}/{trouble.package[1]} says that dependencies are missing, and the Lock has them",
                (shorten(trouble.message),),
                trouble.object,
                (
                    kubectl(
                        case,
                        *("annotate", resource(trouble.object[0]), trouble.object[1]),
                        *(f"{PAUSED}=false", "--overwrite"),
                    ),
                ),
                "this annotation changes nothing but makes Crossplane look again",
                "if it says the same again, look at the log of Crossplane",
                (trouble.package,),
                (trouble,),
            )


def find_digests(case: Case) -> Iterator[Finding]:
    """Find packages that are installed by digest, whose dependants ask for versions."""
    for entry in case.entries:
        if not is_digest(entry.version):
            continue
        refusing = _refusing(case, entry)
        troubles = _of_entries(case, refusing, (*NO_SEMVER, *INCOMPATIBLE))
        if not troubles:
            continue
        locked = case.locked(entry.source)
        owner = _owner_of(case, entry)
        tagged = locked and owner and not locked.by_digest
        run = (
            [patch_spec(case, owner, package=locked.cluster_reference)]
            if tagged and owner and locked
            else detach(case, refusing)
        )
        yield Finding(
            State.DIGEST,
            f"{entry.source} is installed by digest, and what needs it asks for a version",
            (f"the Lock has {entry.version}, which suits no version that {_names(refusing)} ask for",),
            owner,
            tuple(run),
            "Crossplane's alpha flag for upgrades makes its resolver panic here"
            if tagged
            else "Crossplane does not check the dependencies of these packages any more",
            "with tag and ImageConfig both hold: the bytes, and the version (xplock renders it so)",
            (owner,) if owner else (),
            tuple(troubles),
        )


def find_wrong_versions(case: Case) -> Iterator[Finding]:
    """Find packages in a version that not all dependants accept: the first dependant alone has chosen it."""
    for entry in case.entries:
        refusing = [] if is_digest(entry.version) else _refusing(case, entry)
        troubles = _of_entries(case, refusing, INCOMPATIBLE)
        if not troubles:
            continue
        owner = _owner_of(case, entry)
        wishes = _wishes(case, entry.source)
        better = _suiting(case, entry, [text for _, text in wishes])
        run = ""
        if owner:
            run = (
                patch_spec(case, owner, package=f"{entry.source}:{better}")
                if better
                else kubectl(case, "edit", f"{owner[0].lower()}.pkg", owner[1])
            )
        yield Finding(
            State.WRONG_VERSION,
            f"{entry.source} {entry.version} is installed, and not all packages that need it accept that",
            tuple(f"{name} asks for {text}" for name, text in wishes[:_SHOWN]),
            owner,
            (run,) if run else (),
            f"if the registry has no {better}, take another version that suits all"
            if better
            else "write a version that suits all of these; locking the packages finds one",
            "the packages that need it recover by themselves",
            (owner,) if owner else (),
            tuple(troubles),
        )


def _refusing(case: Case, entry: LivePackage) -> list[LivePackage]:
    return [
        one
        for one in case.dependants(entry.source)
        if any(
            edge.package == entry.source and not accepts(edge.constraints, entry.version)
            for edge in one.edges
        )
    ]


def _wishes(case: Case, source: str) -> list[tuple[str, str]]:
    return [
        (f"{one.source} {one.version}", edge.constraints)
        for one in case.dependants(source)
        for edge in one.edges
        if edge.package == source
    ]


def _suiting(case: Case, entry: LivePackage, wishes: Sequence[str]) -> str:
    """Return a version that suits all: of the lock, of an earlier revision, or one that a dependant names."""
    locked = case.locked(entry.source)
    images = [
        one.image.rpartition(":")[2]
        for package in case.packages_with(entry.source)
        for one in case.revisions_of(package)
        if "@" not in one.image
    ]
    named = [text for wish in wishes for text in _COMPLETE.findall(wish)]
    versions = sorted({*images, *named}, key=lambda text: (_rank(text), text), reverse=True)
    known = [*([locked.version] if locked else []), *versions]
    return next((one for one in known if all(accepts(wish, one) for wish in wishes)), "")


def _rank(text: str) -> tuple[object, ...]:
    version = parse_loosely(text)
    return version.precedence if version else ()


def _of_entries(case: Case, entries: Sequence[LivePackage], parts: Sequence[str]) -> list[Trouble]:
    owners = set(_owners_of(case, entries))
    return case.open(*parts, where=lambda one: one.package in owners) if owners else []


def _owner_of(case: Case, entry: LivePackage) -> ObjectKey | None:
    revision = case.revision_of(entry)
    package = case.package_of(revision) if revision else None
    if package:
        return key_of(package)
    return next(iter(key_of(one) for one in case.packages_with(entry.source)), None)


def _owners_of(case: Case, entries: Sequence[LivePackage]) -> list[ObjectKey]:
    return [owner for entry in entries if (owner := _owner_of(case, entry))]


def _names(entries: Sequence[LivePackage]) -> str:
    return first_names([one.source for one in entries], _SHOWN)
