"""A rule about what is rendered: looked at as a cluster would, whatever made it.

The stages before have refused most of this already. Here the result is compared once more with the lock, since what
an overlay or an error of ours lets through stops every package of a cluster.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from render.checks.model import Checked, Finding
from render.checks.positions import lock_place
from render.errors import RenderError, Unsatisfiable
from render.inputs.projects import Inputs
from render.lean import Any, TypeAlias
from render.lock.model import Lock, LockedPackage, spec_of
from render.manifests.identity import PACKAGE_GROUP, group_of, identify
from render.manifests.passthrough import is_lock
from render.packages import Kind
from render.references import split_tag
from render.settings import PinMode
from render.texts import first_lines

_KINDS = frozenset(Kind)
_SHOWN = 20

_Object: TypeAlias = Mapping[str, Any]


def rendered_inconsistent(checked: Checked) -> Iterator[Finding]:
    """What is rendered is not what is locked: a package or a pin is missing, there twice, or another one."""
    for one in checked.folders:
        lock = one.fresh_lock
        if lock is None or isinstance(one.objects, RenderError) or not isinstance(one.inputs, Inputs):
            continue
        pinned = one.inputs.settings.pin is PinMode.DIGEST
        problems = list(find_inconsistencies(lock, one.objects, pinned=pinned))
        if problems:
            yield Finding(
                "rendered-inconsistent",
                one.name,
                "what is rendered is not what is locked",
                tuple(first_lines(problems, _SHOWN)),
                ("leave packages, pins and Locks out of overlays",),
                Unsatisfiable.exit_code,
                lock_place(one),
            )


def find_inconsistencies(lock: Lock, objects: Sequence[_Object], *, pinned: bool) -> Iterator[str]:
    """Return in what objects differ from a lock, or could not be applied together."""
    identities = [identify(value) for value in objects]
    for group, kind, _, name in identities:
        if is_lock(group, kind):
            yield f"{kind} {name} is among the objects, and a Lock is never applied"
    for (_, kind, _, name), count in Counter(identities).items():
        if count > 1 and name:
            yield f"{kind} {name} is there {count} times"
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


def _compare_packages(
    installed: Sequence[LockedPackage], packages: Mapping[tuple[str, str], _Object]
) -> Iterator[str]:
    locked = {(package.kind.value, package.object_name): package for package in installed}
    for (kind, name), package in locked.items():
        if (kind, name) not in packages:
            yield f"{kind} {name} is missing, which installs {package.cluster_reference}"
            continue
        spec = spec_of(packages[kind, name])
        if spec.get("package") != package.cluster_reference:
            yield f"{kind} {name} installs {spec.get('package')}; locked is {package.cluster_reference}"
        if package.detached and spec.get("skipDependencyResolution") is not True:
            yield f"{kind} {name} is attached; it is locked as detached"
    for kind, name in sorted(packages.keys() - locked.keys()):
        yield f"{kind} {name} installs {spec_of(packages[kind, name]).get('package')}, and is not in the lock"


def _find_doubles(packages: Mapping[tuple[str, str], _Object]) -> Iterator[str]:
    found: dict[str, list[str]] = {}
    for (kind, name), value in sorted(packages.items()):
        found.setdefault(_source(spec_of(value).get("package")), []).append(f"{kind} {name}")
    for source, names in found.items():
        if len(names) > 1:
            yield (
                f"{source} is installed by {' and '.join(names)}; "
                "two objects for one source stop every package in the cluster"
            )


def _compare_pins(installed: Sequence[LockedPackage], objects: Sequence[_Object]) -> Iterator[str]:
    targets: dict[str, str] = {}
    for value in objects:
        if group_of(value) == PACKAGE_GROUP and value.get("kind") == "ImageConfig":
            targets |= _rewrites(spec_of(value))
    for package in installed:
        reference = package.cluster_reference
        if not package.by_digest and not targets.get(reference, "").endswith(f"@{package.digest}"):
            yield f"no ImageConfig leads {reference} to {package.digest}"


def _rewrites(spec: _Object) -> dict[str, str]:
    rewrite, matches = spec.get("rewriteImage"), spec.get("matchImages")
    if not isinstance(rewrite, dict) or not isinstance(matches, list):
        return {}
    target = str(rewrite.get("prefix"))
    return {str(match.get("prefix")): target for match in matches if isinstance(match, dict)}


def _source(reference: Any) -> str:
    return split_tag(str(reference).partition("@")[0])[0]
