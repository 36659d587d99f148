"""Failures a person can act on: what went wrong, why, and what to do next."""

from collections.abc import Sequence

from render.texts import SHOWN_CHARACTERS, redact, visible

_LONGEST_ADVICE = 50_000


class RenderError(Exception):
    """Something could not be done; shown to people as three parts."""

    exit_code = 1

    def __init__(self, what: str, *, why: str | Sequence[str] = (), next: str | Sequence[str] = ()) -> None:
        super().__init__(what)
        self.what = what
        self.why = (why,) if isinstance(why, str) else tuple(why)
        self.next = (next,) if isinstance(next, str) else tuple(next)

    def __str__(self) -> str:
        # Advice may be a command, which is of no use when it is cut.
        advice = _part("next: ", self.next, limit=_LONGEST_ADVICE)
        lines = [_shown(self.what), *_part("why:  ", self.why), *advice]
        return "\n".join(lines)


class InvalidInput(RenderError):
    """Wrong usage, or an invalid file of the user's."""

    exit_code = 2


class Unavailable(RenderError):
    """A question that got no answer, so that nothing is known; asking again may help."""


class UnusableContent(RenderError):
    """Content that is no usable package; asking again will not change it."""


class Differs(RenderError):
    """Something is out of date, or is not what was recorded."""

    exit_code = 3


class Unsatisfiable(RenderError):
    """No answer satisfies all requests, or the only one needs the user's consent."""

    exit_code = 4


def in_one_line(error: RenderError, *, advice: bool = True) -> str:
    """Return an error as one line, to be shown behind its place."""
    return "; ".join([error.what, *error.why, *(error.next if advice else ())])


def _part(label: str, lines: Sequence[str], *, limit: int = SHOWN_CHARACTERS) -> list[str]:
    labels = [label, *[" " * len(label)] * len(lines)]
    return [f"  {label}{_shown(line, limit=limit)}" for label, line in zip(labels, lines, strict=False)]


def _shown(text: str, *, limit: int = SHOWN_CHARACTERS) -> str:
    # Texts of xplock are short; long or unusual parts come from outside.
    return visible(redact(text), limit=limit)
