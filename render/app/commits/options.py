"""How something is committed, as the user chose. A file of its own, since git takes long to import."""

from dataclasses import dataclass

from render.errors import InvalidInput
from render.texts import hides_something


@dataclass(frozen=True, slots=True)
class CommitOptions:
    """How `commit` and `lock --commit` commit; each field is one option."""

    branch: str | None = None
    start: str | None = None
    with_inputs: bool = False
    push: bool = False
    remote: str | None = None
    author: str | None = None
    subject: str | None = None
    # None: as commit.gpgSign says.
    sign: bool | None = None
    signoff: bool = False
    pre_push: bool = False

    @property
    def given(self) -> bool:
        """Whether any option was given."""
        return self != CommitOptions()

    def check(self) -> None:
        """Raise for options that need another one, and for a message of more than a line."""
        needs = {
            "--from": (self.start is not None, "--branch", self.branch is not None),
            "--remote": (self.remote is not None, "--push", self.push),
            "--pre-push": (self.pre_push, "--push", self.push),
        }
        for option, (given, needed, other) in needs.items():
            if given and not other:
                what = f"{option} says nothing without {needed}"
                raise InvalidInput(what, next=f"add {needed}, or leave it out")
        if self.subject is not None and (hides_something(self.subject) or not self.subject.strip()):
            raise InvalidInput(
                "the message is not a line of text",
                why="only the first line can be given; the rest lists what changed",
                next="write one line",
            )
