"""What `mirror` copied, or would copy, as text and JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from render.references import Reference
from render.registry.copying.model import Part, Report, Way
from render.texts import counted, visible

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
_STEP = 1024


def format_plan(reports: Sequence[Report]) -> str:
    """Write what is there, and what would be copied."""
    lines = []
    for report in reports:
        lines.append(f"{_named(report)}: {_lack(report)}")
        lines += [f"  {note}" for note in report.notes]
    lacking = sum(bool(report.missing) for report in reports)
    total = sum(report.bytes for report in reports)
    lines.append(f"{lacking:,} of {counted(len(reports), 'image')} to copy, {amount(total)}")
    return "".join(f"{visible(line)}\n" for line in lines)


def format_reports(reports: Sequence[Report]) -> list[str]:
    """Return a line for each image that was copied, its notes, and a summary."""
    lines = []
    for report in reports:
        if report.manifests:
            lines.append(f"copied {_named(report)}{_with_attached(report)}")
        lines += [f"note: {note}" for note in report.notes]
    copied = sum(bool(report.manifests) for report in reports)
    total = sum(report.bytes for report in reports)
    lines.append(f"{copied:,} of {counted(len(reports), 'image')} copied, {amount(total)}")
    return lines


def mirror_document(
    to: str, reports: Sequence[Report], configs: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return everything as JSON values."""
    return {"to": to, "images": [_document(report) for report in reports], "imageConfigs": list(configs)}


def amount(count: int) -> str:
    """Return a number of bytes as people read it."""
    size, unit = float(count), 0
    while size >= _STEP and unit < len(_UNITS) - 1:
        size, unit = size / _STEP, unit + 1
    return f"{count:,} bytes" if unit == 0 else f"{size:,.1f} {_UNITS[unit]}"


def _document(report: Report) -> dict[str, Any]:
    job = report.job
    return {
        "from": str(Reference(job.place, job.tag, job.digest)),
        "source": str(job.source),
        "to": str(Reference(job.target, report.tag)),
        "digest": job.digest,
        "blobs": {way.value: report.blobs[way] for way in Way},
        "bytes": report.bytes,
        "manifests": report.manifests,
        "missing": report.missing,
        "attached": [_attached(part) for part in _attached_parts(report)],
        "notes": report.notes,
    }


def _attached(part: Part) -> dict[str, str]:
    named = {"tag": part.tag} if part.tag else {}
    refers = {"subject": part.subject} if part.subject else {}
    return {"digest": part.digest, "type": _type(part), **named, **refers}


def _type(part: Part) -> str:
    # A signature by tag has the type of any image; the suffix of its tag says more.
    return part.tag.rpartition(".")[2] if part.tag else part.artifact_type


def _attached_parts(report: Report) -> list[Part]:
    if report.tree is None:
        return []
    return [part for part in (*report.tree.attached, *report.tree.referrers) if part.tag or part.subject]


def _with_attached(report: Report) -> str:
    number = len(_attached_parts(report))
    return f" with {number:,} attached" if number else ""


def _named(report: Report) -> str:
    return str(Reference(report.job.target, report.tag))


def _lack(report: Report) -> str:
    if not report.missing:
        return "there"
    return f"{counted(len(report.missing), 'part')} missing, {amount(report.bytes)}"
