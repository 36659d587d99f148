"""States of packages that cannot enter the Lock: everything that needs them waits."""

from collections.abc import Iterator, Sequence

from render.live.doctor.case import Case, key_of, source_of
from render.live.doctor.commands import detach, kubectl, patch_spec
from render.live.doctor.messages import MISSING, NOT_PULLED, WRONG_CONTENT, WRONG_CROSSPLANE, pull_cause
from render.live.doctor.model import Finding, State, Trouble
from render.live.model import PackageObject
from render.texts import first_names, visible

_SHOWN = 5
_LINE = 300
_MEANINGS = {
    "credentials": "the registry wants credentials, or others than it gets: packagePullSecrets, or an ImageConfig with a pull secret",
    "certificate": "the certificate of the registry is not trusted: the CA bundle that Crossplane is started with",
    "gone": "the registry does not have it: the tag or the repository is wrong or gone, or a mirror lacks it",
    "network": "the registry cannot be reached from the cluster",
    "reference": "spec.package is no reference that Crossplane can read",
}


def find_not_pulled(case: Case) -> Iterator[Finding]:
    """Find packages that cannot be pulled; a healthy earlier revision goes on running."""
    for package in case.cluster.packages:
        own = [one for one in case.open_of(package) if _is_about_pulling(one)]
        if not own:
            continue
        earlier = case.earlier_image(package)
        locked = case.locked(source_of(package))
        better = next((one for one in (_of_lock(locked), earlier) if one and one != package.package), "")
        cause = pull_cause(own[0].message)
        yield _entering(
            case,
            State.NOT_PULLED,
            package,
            own,
            f"{package.package} cannot be pulled",
            (shorten(own[0].message), *([_MEANINGS[cause]] if cause else []), *_rewritten(package)),
            _package_again(case, package, better),
            f"{earlier} goes on running" if earlier else "it is pulled as soon as the cause is gone",
        )


def _is_about_pulling(trouble: Trouble) -> bool:
    return trouble.reason == "UnpackingPackage" or any(part in trouble.message for part in NOT_PULLED)


def _of_lock(locked: object) -> str:
    return getattr(locked, "cluster_reference", "")


def _rewritten(package: PackageObject) -> list[str]:
    if package.resolved_package in ("", package.package):
        return []
    configs = [one.name for one in package.applied if one.reason == "RewriteImage"]
    return [
        f"ImageConfig {first_names(configs, _SHOWN) or 'of the cluster'} rewrites it to {package.resolved_package}"
    ]


def _package_again(case: Case, package: PackageObject, better: str) -> tuple[str, ...]:
    if better:
        return (patch_spec(case, key_of(package), package=better),)
    return (kubectl(case, "get", "imageconfig.pkg", "-o", "yaml"),)


def find_wrong_crossplane(case: Case) -> Iterator[Finding]:
    """Find packages that do not accept the version of Crossplane; that is not tried again by itself."""
    for package in case.cluster.packages:
        own = [one for one in case.open_of(package) if WRONG_CROSSPLANE in one.message]
        if not own:
            continue
        earlier = case.earlier_image(package)
        fields = {"package": earlier} if earlier else {"ignoreCrossplaneConstraints": True}
        yield _entering(
            case,
            State.WRONG_CROSSPLANE,
            package,
            own,
            f"{package.package} does not accept this Crossplane",
            (shorten(own[0].message),),
            (patch_spec(case, key_of(package), **fields),),
            f"it goes back to {earlier}" if earlier else "",
            "" if earlier else "its publisher does not promise that it works here; another version is better",
        )


def find_wrong_content(case: Case) -> Iterator[Finding]:
    """Find objects whose package is of another kind, or holds what Crossplane refuses."""
    for package in case.cluster.packages:
        own = [one for one in case.open_of(package) if any(part in one.message for part in WRONG_CONTENT)]
        if not own:
            continue
        source = source_of(package)
        asking = [
            entry
            for entry in case.dependants(source)
            if any(edge.package == source and edge.kind == package.kind for edge in entry.edges)
        ]
        earlier = case.earlier_image(package)
        run = (
            [patch_spec(case, key_of(package), package=earlier)]
            if earlier
            else [*detach(case, asking), *_delete(case, package)]
        )
        yield _entering(
            case,
            State.WRONG_CONTENT,
            package,
            own,
            f"{package.package} cannot be installed as a {package.kind}",
            (
                shorten(own[0].message),
                *(f"{one.source} {one.version} asks for it" for one in asking[:_SHOWN]),
            ),
            tuple(run),
            "" if earlier else "it has installed nothing, so nothing goes with it",
            f"Crossplane does not check the dependencies of {first_names([one.source for one in asking], _SHOWN)} then"
            if asking and not earlier
            else "",
        )


def _delete(case: Case, package: PackageObject) -> list[str]:
    """Return the command that deletes a package; none, if it has ever installed anything."""
    if any(one.objects for one in case.revisions_of(package)):
        return []
    return [kubectl(case, "delete", f"{str(package.kind).lower()}.pkg", package.name)]


def find_waiting(case: Case) -> Iterator[Finding]:
    """Find packages that others need, whose objects are there, and which are not in the Lock."""
    for source in sorted({one for trouble in case.open(*MISSING) for one in case.missing_of(trouble)}):
        packages = case.packages_with(source)
        if not packages or not case.waiting_for(source):
            continue
        package = packages[0]
        why = _why_outside(case, package)
        key = key_of(package)
        skips = package.spec.get("skipDependencyResolution") is True
        run = (
            (patch_spec(case, key, skipDependencyResolution=False),)
            if skips
            else (kubectl(case, "describe", f"{key[0].lower()}.pkg", key[1]),)
        )
        yield _entering(
            case,
            State.WAITS,
            package,
            case.open_of(package),
            f"{source} is not in the Lock, and other packages wait for it",
            (why,),
            run,
            "packages that wait for it recover by themselves",
            "its dependencies are checked again; it may have been detached for a reason" if skips else "",
        )


def _why_outside(case: Case, package: PackageObject) -> str:
    if package.spec.get("skipDependencyResolution") is True:
        return f"{package.kind}/{package.name} skips dependency resolution, so it never enters the Lock"
    kinds = {
        edge.kind
        for entry in case.dependants(source_of(package))
        for edge in entry.edges
        if edge.package == source_of(package) and edge.kind
    }
    if kinds and str(package.kind) not in kinds:
        return f"it is a {package.kind}, and what needs it asks for a {first_names(sorted(kinds), _SHOWN)}"
    if not case.revisions_of(package):
        return f"{package.kind}/{package.name} has no revision yet"
    return f"{package.kind}/{package.name} has not entered the Lock, and does not say why"


def _entering(
    case: Case,
    state: State,
    package: PackageObject,
    own: Sequence[Trouble],
    what: str,
    why: tuple[str, ...],
    run: tuple[str, ...],
    then: str = "",
    care: str = "",
) -> Finding:
    """Return a finding about a package that is not in the Lock; packages that miss it are its consequences."""
    source = source_of(package)
    is_locked = source in case.by_source
    waiting = [] if is_locked else [*case.waiting_for(source), *_behind(case, source)]
    troubles = [*case.open_of(package), *own, *waiting]
    return Finding(
        state,
        what,
        why,
        key_of(package),
        run,
        care,
        then,
        (key_of(package),),
        tuple(dict.fromkeys(troubles)),
    )


def _behind(case: Case, source: str) -> list[Trouble]:
    """Return everything that waits because Crossplane stops at the first source that is missing."""
    missing = [
        edge.package for entry in case.entries for edge in entry.edges if edge.package not in case.by_source
    ]
    return case.open(*MISSING) if missing[:1] == [source] else []


def shorten(message: str) -> str:
    """Return a message in one line of a readable length."""
    return visible(" ".join(message.split()), limit=_LINE)
