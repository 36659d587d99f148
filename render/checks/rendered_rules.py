"""A rule about rendered objects: they match the lock, after overrides and overlay.

Earlier stages reject most mismatches. This rule compares the result with the lock once more, since one that an overlay
or a bug of ours lets through stops every package of a cluster.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from render.checks.model import Checked, Finding
from render.checks.positions import lock_place
from render.errors import RenderError, Unsatisfiable
from render.inputs.objects import REVISIONS, find_items_keys
from render.inputs.projects import Inputs
from render.lean import Any, TypeAlias
from render.lock.model import Lock, LockedPackage, spec_of
from render.manifests.identity import Identity, group_of, identify
from render.manifests.passthrough import is_lock
from render.names import revision_name
from render.packages import PACKAGE_GROUP, Kind
from render.references import split_tag
from render.settings import PinMode
from render.texts import first_lines

_KINDS = frozenset(Kind)
_SHOWN = 20

_Object: TypeAlias = Mapping[str, Any]


def rendered_inconsistent(checked: Checked) -> Iterator[Finding]:
    """The rendered objects differ from the lock: a package or a pin is missing, duplicate or different."""
    # Folders that are alike share their objects.
    known: dict[int, list[str]] = {}
    for one in checked.folders:
        lock = one.fresh_lock
        if lock is None or isinstance(one.objects, RenderError) or not isinstance(one.inputs, Inputs):
            continue
        problems = known.get(id(one.objects))
        if problems is None:
            pinned = one.inputs.settings.pin is PinMode.DIGEST
            problems = known[id(one.objects)] = list(find_inconsistencies(lock, one.objects, pinned=pinned))
        if problems:
            yield Finding(
                "rendered-inconsistent",
                one.name,
                "the rendered objects differ from the lock",
                tuple(first_lines(problems, _SHOWN)),
                ("leave packages, pins and Locks out of overlays",),
                Unsatisfiable.exit_code,
                lock_place(one),
            )


def find_inconsistencies(lock: Lock, objects: Sequence[_Object], *, pinned: bool) -> Iterator[str]:
    """Return how objects differ from a lock, or why they cannot be applied together."""
    identities = [identify(value) for value in objects]
    for group, kind, _, name in identities:
        if is_lock(group, kind):
            yield f"{kind} {name} is among the objects, and a Lock must not be applied"
    yield from _find_items(objects)
    yield from _find_revisions(lock, identities)
    for (_, kind, _, name), count in Counter(identities).items():
        if count > 1 and name:
            yield f"{kind} {name} is rendered {count} times"
    packages = {
        (kind, name): value
        for value, (group, kind, _, name) in zip(objects, identities, strict=True)
        if group == PACKAGE_GROUP and kind in _KINDS
    }
    installed = lock.installed()
    yield from _compare_packages(installed, packages)
    yield from _find_doubles(packages)
    if pinned:
        yield from _compare_pins(installed, objects)


def _find_items(objects: Sequence[_Object]) -> Iterator[str]:
    for value in objects:
        for key in find_items_keys(value):
            _, kind, _, name = identify(value)
            yield f"{kind} {name} has the field {key}, and Argo CD would apply each item as an object"


def _find_revisions(lock: Lock, identities: Sequence[Identity]) -> Iterator[str]:
    made = {revision_name(package.object_name, package.digest) for package in lock.deactivated.values()}
    for group, kind, _, name in identities:
        if group == PACKAGE_GROUP and kind in REVISIONS and name not in made:
            yield f"{kind} {name} is the revision of no deactivated package"


def _compare_packages(
    installed: Sequence[LockedPackage], packages: Mapping[tuple[str, str], _Object]
) -> Iterator[str]:
    locked = {(package.kind.value, package.object_name): package for package in installed}
    for (kind, name), package in locked.items():
        if (kind, name) not in packages:
            yield f"{kind} {name} is missing; it installs {package.cluster_reference}"
            continue
        spec = spec_of(packages[kind, name])
        if spec.get("package") != package.cluster_reference:
            yield f"{kind} {name} installs {spec.get('package')}; the lock has {package.cluster_reference}"
        if package.detached and spec.get("skipDependencyResolution") is not True:
            yield f"{kind} {name} is attached; the lock says detached"
    for kind, name in sorted(packages.keys() - locked.keys()):
        yield f"{kind} {name} installs {spec_of(packages[kind, name]).get('package')}, which is not in the lock"


def _find_doubles(packages: Mapping[tuple[str, str], _Object]) -> Iterator[str]:
    found: dict[str, list[str]] = {}
    for (kind, name), value in sorted(packages.items()):
        found.setdefault(_source(spec_of(value).get("package")), []).append(f"{kind} {name}")
    for source, names in found.items():
        if len(names) > 1:
            yield (
                f"{source} is installed by {' and '.join(names)}; "
                "two package objects for one source block every package in the cluster"
            )


def _compare_pins(installed: Sequence[LockedPackage], objects: Sequence[_Object]) -> Iterator[str]:
    targets: dict[str, str] = {}
    for value in objects:
        if group_of(value) == PACKAGE_GROUP and value.get("kind") == "ImageConfig":
            targets |= _rewrites(spec_of(value))
    for package in installed:
        reference = package.cluster_reference
        if not package.by_digest and not targets.get(reference, "").endswith(f"@{package.digest}"):
            yield f"no ImageConfig points {reference} to {package.digest}"


def _rewrites(spec: _Object) -> dict[str, str]:
    rewrite, matches = spec.get("rewriteImage"), spec.get("matchImages")
    if not isinstance(rewrite, dict) or not isinstance(matches, list):
        return {}
    target = str(rewrite.get("prefix"))
    return {str(match.get("prefix")): target for match in matches if isinstance(match, dict)}


def _source(reference: Any) -> str:
    return split_tag(str(reference).partition("@")[0])[0]
