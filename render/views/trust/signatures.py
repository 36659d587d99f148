"""The verdicts on signatures as text and JSON."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from render.texts import counted, redact, visible

if TYPE_CHECKING:
    from render.lock.online.signatures import Judged

_HEADER = ("SIGNATURE OF", "CROSSPLANE", "OUTSIDE CROSSPLANE")
_OUTSIDE = {"accepted": "good", "refused": "not good", "not checked": "not checked"}


def format_judged(folder: str, judged: "Sequence[Judged]") -> str:
    """Write a line for each package with its two verdicts, and below it what is wrong."""
    if not judged:
        return ""
    rows = [_HEADER, *(_row(one) for one in judged)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADER))]
    lines = [_line(_HEADER, widths)]
    for one, row in zip(judged, rows[1:], strict=True):
        lines += [_line(row, widths), *_details(one)]
    good = sum(not one.judgement.trouble for one in judged)
    return "".join(
        f"{line}\n" for line in [*lines, f"{folder}: {good:,} of {counted(len(judged), 'package')} accepted"]
    )


def judged_document(judged: "Sequence[Judged]") -> list[dict[str, Any]]:
    """Return the verdicts as JSON values."""
    return [
        {
            "source": str(one.package.source),
            "object": one.package.object_name,
            "version": one.package.version,
            "reference": one.reference,
            "rule": one.judgement.rule,
            "authority": one.judgement.authority,
            "verdict": one.judgement.verdict,
            "outsideCrossplane": one.judgement.outside,
            "trouble": one.judgement.trouble or "",
            "details": [redact(detail) for detail in one.judgement.details],
            "signers": [_signer(proof) for proof in one.judgement.proofs],
        }
        for one in judged
    ]


def _row(one: "Judged") -> tuple[str, str, str]:
    judgement = one.judgement
    named = f"{one.package.source} {visible(one.package.version)}"
    return named, judgement.trouble or judgement.verdict, _OUTSIDE[judgement.outside]


def _details(one: "Judged") -> Iterator[str]:
    judgement = one.judgement
    if not judgement.trouble:
        by = f", authority {judgement.authority}" if judgement.authority else ", which accepts everything"
        yield f"  ImageConfig {visible(judgement.rule)}{visible(by)}"
        return
    if judgement.rule:
        yield f"  ImageConfig {visible(judgement.rule)} asks for it at {visible(one.reference)}"
    yield from (f"  {visible(redact(detail))}" for detail in judgement.details)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return "   ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def _signer(proof: Any) -> dict[str, Any]:
    if proof.key:
        return {"key": proof.key, "since": proof.since}
    return {"issuer": proof.issuer, "subjects": list(proof.subjects), "since": proof.since}
