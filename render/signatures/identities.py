"""Whether the signer in a certificate is one that a rule names."""

from collections.abc import Sequence

from render.signatures.expressions.matching import fits_everyone, matches
from render.signatures.refusals import Reason, Refused
from render.signatures.rules import Identity
from render.texts import first_names

_LONGEST = 2_048
_SHOWN = 3


def require_identity(identities: Sequence[Identity], issuer: str, subjects: Sequence[str]) -> None:
    """Raise unless one identity fits both issuer and subject; without identities, everyone does."""
    if any(len(text) > _LONGEST for text in (issuer, *subjects)):
        raise Refused(Reason.UNSUPPORTED, f"its certificate has a name of more than {_LONGEST:,} characters")
    if identities and not any(_fits(one, issuer, subjects) for one in identities):
        raise Refused(
            Reason.WRONG_IDENTITY, f"it was signed by {first_names(subjects, _SHOWN)}, as {issuer} says"
        )


def _fits(identity: Identity, issuer: str, subjects: Sequence[str]) -> bool:
    # Both are looked at, since an expression that cannot be used is an error wherever it stands.
    fits_issuer = _names(identity.issuer_expression, identity.issuer, [issuer])
    fits_subject = _names(identity.subject_expression, identity.subject, subjects)
    return fits_issuer and fits_subject


def _names(expression: str, plain: str, texts: Sequence[str]) -> bool:
    if expression:
        # Tried without a text, too, so that a bad expression is found.
        return any(matches(expression, text) for text in texts or ("",)) and bool(texts)
    return not plain or plain in texts


def missing_names(identity: Identity) -> list[str]:
    """Return the names that an identity leaves open, so that everyone has one which fits."""
    given = {
        "issuer": (identity.issuer_expression, identity.issuer),
        "subject": (identity.subject_expression, identity.subject),
    }
    return [
        name
        for name, (expression, plain) in given.items()
        if (fits_everyone(expression) if expression else not plain)
    ]
