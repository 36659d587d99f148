"""What Crossplane alone would pick, as JSON."""

from typing import Any

from render.names import friendly_id
from render.resolve.mimic.model import CrossplaneAnswer, LockDependency, LockEntry
from render.views.mimic.comparison import Comparison


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """Return it as JSON values; `lock` is the Lock that Crossplane would build, without what only a cluster has."""
    other = comparison.reversed
    return {
        "folder": comparison.folder,
        "flags": comparison.flag,
        "start": "live" if comparison.is_live else "empty",
        **_answer(comparison.answer),
        "xplock": {
            "packages": comparison.packages,
            "differences": [
                {"source": one.source, "crossplane": one.crossplane, "xplock": one.xplock, "why": one.why}
                for one in comparison.differences
            ],
        },
        "otherOrder": other
        and {
            "differences": [
                {"source": one.source, "version": one.version, "otherVersion": one.reversed_version}
                for one in comparison.order_differences
            ],
            **_answer(other),
        },
    }


def _answer(answer: CrossplaneAnswer) -> dict[str, Any]:
    stop = answer.stop
    return {
        "picks": [
            {
                "action": pick.action,
                "source": pick.source,
                "version": pick.version,
                "dependant": pick.dependant or None,
                "constraints": pick.constraints or None,
            }
            for pick in answer.picks
        ],
        "resolved": answer.resolved,
        "stop": stop
        and {
            "why": stop.why,
            "dependant": stop.dependant or None,
            "package": stop.dependency.package if stop.dependency else None,
            "constraints": stop.dependency.constraints if stop.dependency else None,
        },
        "unhealthy": [
            {"source": one.source, "version": one.version, "why": list(one.why), "inLock": one.locked}
            for one in answer.unhealthy
        ],
        "lock": {
            "apiVersion": "pkg.crossplane.io/v1beta1",
            "kind": "Lock",
            "metadata": {"name": "lock"},
            "packages": [_entry(entry) for entry in answer.entries],
        },
    }


def _entry(entry: LockEntry) -> dict[str, Any]:
    # From v2.4 on the name depends on how often the object was changed, too.
    digest = entry.digest or ""
    name = friendly_id(entry.object_name, digest.removeprefix("sha256:")) if digest else entry.object_name
    return {
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": entry.kind,
        "name": name,
        "source": entry.source,
        "version": entry.version,
        "dependencies": [_dependency(one) for one in entry.dependencies],
    }


def _dependency(one: LockDependency) -> dict[str, Any]:
    explicit = {"apiVersion": one.api_version, "kind": one.kind} if one.api_version else {"type": one.kind}
    return {"package": one.package, "constraints": one.constraints, **explicit}
