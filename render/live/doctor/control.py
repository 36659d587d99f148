"""States of control: an object or a revision belongs to another one."""

from collections.abc import Iterator

from render.live.doctor.case import Case, key_of, source_of
from render.live.doctor.commands import (
    kubectl,
    patch,
    patch_spec,
    remove_owner,
    revision_key,
    switch_off,
)
from render.live.doctor.entering import shorten
from render.live.doctor.messages import CONTROLLED, FOREIGN_REVISION, find_control
from render.live.doctor.model import Finding, ObjectKey, State, Trouble
from render.live.model import Definition, PackageObject, Revision, RevisionState
from render.texts import first_names

_SHOWN = 5
_LONGEST_PART = 50


def find_controlled(case: Case) -> Iterator[Finding]:
    """Find objects that another revision controls, by who that is."""
    for trouble in case.open(CONTROLLED):
        found = find_control(trouble.message)
        if found is None or case.is_explained(trouble):
            continue
        package = case.packages.get(trouble.package)
        same = _kept_by(case, found["name"], trouble)
        yield _controlled(case, package, trouble, found["object"], found["name"], found["uid"] or "", same)


def _kept_by(case: Case, holder: str, trouble: Trouble) -> list[Trouble]:
    """Return all that one revision keeps from a package: one cause."""
    return case.open(CONTROLLED, where=lambda one: one.package == trouble.package and _holder(one) == holder)


def _holder(trouble: Trouble) -> str:
    found = find_control(trouble.message)
    return found["name"] if found else ""


def _controlled(
    case: Case,
    package: PackageObject | None,
    trouble: Trouble,
    name: str,
    holder: str,
    uid: str,
    same: list[Trouble],
) -> Finding:
    revisions = [one for one in case.cluster.revisions if one.name == holder]
    alive = [one for one in revisions if not uid or not one.metadata.uid or one.metadata.uid == uid]
    what = f"{trouble.package[1]} cannot install {name}: {holder} controls it"
    why = (shorten(trouble.message),)
    mine = (trouble.package,)
    if not alive:
        return _gone_holder(
            case, what, (*why, f"there is no revision {holder} of that UID"), name, uid, mine, same
        )
    other = case.package_of(alive[0])
    if other is None or (package and key_of(other) == key_of(package)):
        return _earlier_revision(case, what, why, name, alive[0], mine, same)
    return _two_packages(case, what, why, package, other, same)


def _earlier_revision(
    case: Case,
    what: str,
    why: tuple[str, ...],
    name: str,
    holder: Revision,
    mine: tuple[ObjectKey, ...],
    same: list[Trouble],
) -> Finding:
    key = touch = revision_key(holder)
    care = "wait a minute first: a handover to a new revision takes a moment"
    if holder.state is not RevisionState.INACTIVE:
        run = patch_spec(case, key, desiredState="Inactive")
    elif sole := _owned_by_alone(case, name, holder):
        # Kubernetes would delete it with its only owner.
        touch = (sole.kind, sole.name)
        run = patch(case, touch, remove_owner(sole.metadata.owners, 0), how="json")
        care += "; do not delete the revision: the definition has no other owner, and would go with it"
    else:
        run = kubectl(case, "delete", f"{key[0].lower()}.pkg", key[1])
        if not case.cluster.definitions:
            care += "; give the definitions (crds) to see that it is not their only owner: such ones would go with it"
    return Finding(
        State.CONTROL,
        what,
        (*why, f"{holder.name} is an earlier revision of the same package"),
        touch,
        (run,),
        care,
        "the new revision takes over",
        (*mine, key),
        tuple(same),
    )


def _owned_by_alone(case: Case, name: str, holder: Revision) -> Definition | None:
    """Return the definition of this name if a revision is its only owner."""
    known = [one for one in case.cluster.definitions if one.name == name]
    owners = known[0].metadata.owners if known else ()
    return known[0] if len(owners) == 1 and owners[0].uid == holder.metadata.uid else None


def _gone_holder(
    case: Case,
    what: str,
    why: tuple[str, ...],
    name: str,
    uid: str,
    mine: tuple[ObjectKey, ...],
    same: list[Trouble],
) -> Finding:
    kinds = [one for one in case.cluster.definitions if one.name == name]
    key = (kinds[0].kind if kinds else "CustomResourceDefinition", name)
    owners = kinds[0].metadata.owners if kinds else ()
    places = [i for i, owner in enumerate(owners) if owner.controller and (not uid or owner.uid == uid)]
    steps = remove_owner(owners, places[0]) if places else []
    run = (
        patch(case, key, steps, how="json")
        if steps
        else kubectl(case, "get", _plural(key[0]), name, "-o", "jsonpath={.metadata.ownerReferences}")
    )
    care = (
        ""
        if steps
        else "remove the owner reference with that UID; give the definitions (crds) for the command"
    )
    return Finding(
        State.CONTROL, what, why, key, (run,), care, "the revision takes over", (*mine, key), tuple(same)
    )


def _plural(kind: str) -> str:
    return "crd" if kind == "CustomResourceDefinition" else kind.lower()


def _two_packages(
    case: Case,
    what: str,
    why: tuple[str, ...],
    package: PackageObject | None,
    other: PackageObject,
    same: list[Trouble],
) -> Finding:
    theirs = f"{other.kind}/{other.name} ({source_of(other)}) installs the same"
    return Finding(
        State.CONTROL,
        what,
        (*why, theirs),
        key_of(package) if package else key_of(other),
        tuple(switch_off(case, package)) if package else (),
        f"only one of both can be active; do not delete {other.kind}/{other.name}: what it installed goes with it",
        "it is off; to replace the other one by it, lock with a move: moves, strategy deactivate",
        tuple(sorted({key_of(other), *([key_of(package)] if package else [])})),
        (*same, *(case.open_of(package) if package else [])),
    )


def find_foreign_revisions(case: Case) -> Iterator[Finding]:
    """Find revisions that belong to a package that is gone, or to another one with the same start of its name."""
    for package in case.cluster.packages:
        own = [one for one in case.open_of(package) if all(part in one.message for part in FOREIGN_REVISION)]
        if not own:
            continue
        revision = next(iter(_with_other_owner(case, package)), None)
        namesakes = [
            one
            for one in case.cluster.packages
            if one.kind == package.kind
            and one is not package
            and one.name[:_LONGEST_PART] == package.name[:_LONGEST_PART]
        ]
        run = (
            patch(
                case,
                revision_key(revision),
                remove_owner(revision.metadata.owners, _controlling(revision)),
                how="json",
            )
            if revision and not namesakes
            else kubectl(case, "get", "pkgrev", "--show-labels")
        )
        yield Finding(
            State.FOREIGN_REVISION,
            f"{package.name} cannot take its revision, which has another owner",
            (
                shorten(own[0].message),
                *(f"{one.name} has the same first {_LONGEST_PART} characters" for one in namesakes[:_SHOWN]),
            ),
            revision_key(revision) if revision else key_of(package),
            (run,),
            f"rename one of {first_names([package.name, *(one.name for one in namesakes)], _SHOWN)}"
            if namesakes
            else "",
            "the package takes its revision",
            (key_of(package), *([revision_key(revision)] if revision else [])),
            tuple(case.open_of(package)),
        )


def _controlling(revision: Revision) -> int:
    return next(i for i, owner in enumerate(revision.metadata.owners) if owner.controller)


def _with_other_owner(case: Case, package: PackageObject) -> list[Revision]:
    return [
        one
        for one in case.revisions_of(package)
        if one.metadata.controller and one.metadata.controller.uid != package.metadata.uid
    ]
