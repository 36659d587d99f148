"""States that may be intended: paused, switched off, and ImageConfigs that no package uses."""

from collections.abc import Iterator

from render.live.doctor.case import Case, source_of
from render.live.doctor.commands import kubectl, patch_spec, revision_key
from render.live.doctor.messages import INACTIVE
from render.live.doctor.model import Finding, ObjectKey, State
from render.live.model import PAUSED, PackageObject, RevisionState
from render.references import split_tag
from render.texts import first_names

_SHOWN = 5
# Pins of earlier versions are kept on purpose.
_OURS = "xplock-"


def find_paused(case: Case) -> Iterator[Finding]:
    """Find packages and revisions that Crossplane leaves alone."""
    for key, package in case.packages.items():
        if package.metadata.is_paused:
            yield _paused(case, key, key)
    for one in case.cluster.revisions:
        if one.metadata.is_paused:
            yield _paused(case, revision_key(one), (str(one.kind), one.package))


def _paused(case: Case, key: ObjectKey, package: ObjectKey) -> Finding:
    there = case.packages.get(package)
    return Finding(
        State.PAUSED,
        f"{key[0]}/{key[1]} is paused",
        (f"it has the annotation {PAUSED}",),
        key,
        (kubectl(case, "annotate", f"{key[0].lower()}.pkg", key[1], f"{PAUSED}-"),),
        "it was paused by hand, maybe for a reason",
        "Crossplane works on it again",
        (key,),
        tuple(case.open_of(there)) if there else (),
    )


def find_switched_off(case: Case) -> Iterator[Finding]:
    """Find packages without an active revision."""
    for key, package in case.packages.items():
        own = case.open_of(package)
        installed = package.conditions.get("Installed")
        is_off = installed is not None and (
            installed.reason == "InactivePackageRevision" or INACTIVE in installed.message
        )
        revisions = case.revisions_of(package)
        if not is_off or any(one.state is RevisionState.ACTIVE for one in revisions):
            continue
        revision = case.current_revision(package)
        is_meant = _is_meant(case, package)
        yield Finding(
            State.SWITCHED_OFF,
            f"{key[0]}/{key[1]} is switched off: no revision of it is active",
            (f"revisionActivationPolicy is {package.spec.get('revisionActivationPolicy', 'Automatic')}",),
            revision_key(revision) if revision else key,
            (patch_spec(case, revision_key(revision), desiredState="Active"),) if revision else (),
            "a package that another one replaced has to stay off" if is_meant else "only if it is wanted",
            "it takes control of what it installs",
            (key,),
            tuple(own),
            is_stuck=not is_meant,
        )


def _is_meant(case: Case, package: PackageObject) -> bool:
    """Return whether a package is off because another one replaced it."""
    deactivated = case.ours.deactivated.values() if case.ours else ()
    if any((one.kind, one.object_name) == (package.kind, package.name) for one in deactivated):
        return True
    # xplock and this diagnosis switch packages off so.
    skips = package.spec.get("skipDependencyResolution") is True
    return skips and package.spec.get("revisionActivationPolicy") == "Manual"


def find_unused_configs(case: Case) -> Iterator[Finding]:
    """Find ImageConfigs for one tag or digest that no package uses: they match the text after rewriting."""
    used = {one.name for package in case.cluster.packages for one in package.applied}
    used |= {one.name for revision in case.cluster.revisions for one in revision.applied}
    for config in case.cluster.image_configs:
        exact = [one for one in _prefixes(config.spec) if "@" in one or split_tag(one)[1]]
        sources = {source_of(package) for package in case.cluster.packages}
        # One for a version that nothing asks for has nothing to do.
        wanted = [one for one in exact if split_tag(one.partition("@")[0])[0] in sources]
        if wanted and config.name not in used and not config.name.startswith(_OURS):
            yield Finding(
                State.NEVER_APPLIED,
                f"ImageConfig/{config.name} is never applied",
                (f"it matches {first_names(wanted, _SHOWN)}, and no package names it",),
                ("ImageConfig", config.name),
                (kubectl(case, "get", "imageconfig.pkg", config.name, "-o", "yaml"),),
                then="its prefix has to match the text after all rewriting; lists of tags match only prefixes without one",
                objects=(("ImageConfig", config.name),),
                is_stuck=False,
            )


def _prefixes(spec: object) -> list[str]:
    images = spec.get("matchImages") if hasattr(spec, "get") else None
    items = images if isinstance(images, list) else []
    return [one["prefix"] for one in items if isinstance(one, dict) and isinstance(one.get("prefix"), str)]
