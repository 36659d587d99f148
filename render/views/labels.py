"""Short descriptions of a package as text and JSON: its version, and marks such as `shared` or `detached`."""

from render.lock.graph import Target
from render.lock.model import LockedPackage, Provided, State
from render.names import object_name
from render.texts import visible
from render.versions.semantic import Step
from render.views.closure.links import Closure

_SHOWN_DIGEST = len("sha256:") + 12


def marks(closure: Closure, package: Target) -> list[str]:
    """Return the marks of a package."""
    shared = ["shared"] if closure.is_shared(package) else []
    # Dependants of a package with a name of the user's are detached because of it.
    derived = package.object_name == object_name(package.cluster_source)
    named = [f"named {package.object_name}"] if closure.dependants[package.source] and not derived else []
    alias = [f"alias of {package.installed_as}"] if package.installed_as else []
    detached = ["detached"] if package.detached else []
    if isinstance(package, Provided):
        return [f"provided by {visible(package.folder)}", *shared, *named, *alias, *detached]
    asked = ["asked for"] if package.root is not None else []
    return [*asked, *shared, *leaving_marks(package), *named, *alias, *detached]


def leaving_marks(package: LockedPackage) -> list[str]:
    """Return the marks of a leaving package."""
    found = {
        "orphaned": package.state is State.ORPHANED,
        "off": package.state is State.DEACTIVATED,
        "released": package.released,
    }
    return [mark for mark, holds in found.items() if holds]


def package_document(closure: Closure, package: LockedPackage) -> dict[str, object]:
    """Return an active package as JSON values."""
    return {
        **target_document(package),
        "askedFor": package.root,
        "marks": marks(closure, package),
        **life_document(package),
        "detached": list(package.detached),
        "staleEntry": list(package.stale_entry),
    }


def target_document(package: Target) -> dict[str, object]:
    """Return as JSON values what locked and provided packages have in common."""
    return {
        "source": str(package.source),
        "installedAs": str(package.installed_as) if package.installed_as else None,
        "version": package.version,
        "tag": package.version_tag,
        "digest": package.digest,
        "kind": package.kind,
        "object": package.object_name,
    }


def life_document(package: LockedPackage) -> dict[str, object]:
    """Return the state and the moves of a package as JSON values."""
    return {
        "state": package.state,
        "released": package.released,
        "replaces": [
            {"source": str(one.source), "strategy": one.strategy, "consent": one.consent}
            for one in package.replaces
        ],
        "replacedBy": [str(source) for source in package.replaced_by],
    }


def provided_document(package: Provided) -> dict[str, object]:
    """Return a provided package as JSON values."""
    return {**target_document(package), "folder": package.folder, "detached": package.detached}


def format_package(closure: Closure, package: Target) -> str:
    """Write a package with its version, kind and marks."""
    return f"{format_pin(package)} [{', '.join([package.kind, *marks(closure, package)])}]"


def format_pin(package: Target) -> str:
    """Write the source and the locked version."""
    return f"{visible(str(package.display_source))} {format_locked(package)}"


def format_locked(package: Target) -> str:
    """Write the locked version; for a digest its first digits, after its tag if that is known."""
    if not package.by_digest:
        return visible(package.version)
    parts = [package.tag, f"{package.digest[:_SHOWN_DIGEST]}…"]
    return visible("@".join(part for part in parts if part))


def format_step(step: Step) -> str:
    """Write the size of a step."""
    return "same version, other digest" if step is Step.DIGEST else step.value


def step_document(step: Step | None) -> dict[str, object]:
    """Return the size of a step as JSON values."""
    return {"step": step.word if step else None, "mayBreak": step is not None and step.may_break}
