"""The pages that people read: their blocks, how each block is checked, and which blocks run in one shell."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).parents[3]
README = TOP / "README.md"
DOCS = sorted((TOP / "docs").glob("*.md"))
PAGES = [README, *DOCS, TOP / "CONTRIBUTING.md", TOP / "SECURITY.md", TOP / "examples/README.md"]
SHELL = ("sh", "console")
# The line of a console block that stands for lines which are left out.
LEFT_OUT = "..."

_FENCED = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]+) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
_HEADING = re.compile(r"^#{1,4} (.+)$", re.MULTILINE)
# `run: SCENE` and, for a block that is a file, `write: PATH`; both, with a comma between them, where a file comes first.
_RUN = re.compile(r"(?:run: (?P<scene>[\w /.-]+?))?(?:, )?(?:write: (?P<file>[\w/.-]+))?")
_SAME = "same"


@dataclass(frozen=True, slots=True)
class Step:
    """A command, and the output that the page shows, if it shows one."""

    command: str
    shown: str | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block; the comment on the line before it says how it is checked."""

    page: Path
    section: str
    mark: str
    language: str
    text: str
    # Where the text starts in the page.
    start: int

    def __str__(self) -> str:
        return f"{self.page.relative_to(TOP)}: {self.section}"

    @property
    def scene(self) -> str:
        """The place where it runs; `same` is that of the block before it."""
        match = _RUN.fullmatch(self.mark)
        return (match["scene"] or (_SAME if match["file"] else "")) if match else ""

    @property
    def file(self) -> str:
        """The path of the file that it is."""
        match = _RUN.fullmatch(self.mark)
        return (match and match["file"]) or ""

    @property
    def need(self) -> str:
        """What it needs that no test has, as its first line says."""
        first = self.text.partition("\n")[0]
        return first.removeprefix("# needs ") if first.startswith("# needs ") else ""

    @property
    def steps(self) -> list[Step]:
        """The commands of a console block, each with its output; the commands of a shell block are one step."""
        if self.file:
            return [Step(f"cat >{self.file} <<'END'\n{self.text}END")]
        if self.language == "sh":
            return [Step(self.text)]
        parts = [part.partition("\n") for part in re.split(r"^\$ ", self.text, flags=re.MULTILINE) if part]
        return [Step(command, shown_form(shown)) for command, _, shown in parts]


@dataclass(frozen=True, slots=True)
class Session:
    """Blocks of a page that run in one shell, one after the other."""

    scene: str
    blocks: tuple[Block, ...]

    def __str__(self) -> str:
        return str(self.blocks[0])


def read_blocks(page: Path) -> list[Block]:
    """Return every fenced block of a page."""
    text = page.read_text()
    headings = [(match.start(), match[1]) for match in _HEADING.finditer(_without_blocks(text))]
    return [
        Block(
            page=page,
            section=next((title for start, title in reversed(headings) if start < match.start()), ""),
            mark=match["mark"] or "",
            language=match["language"],
            text=match["text"],
            start=match.start("text"),
        )
        for match in _FENCED.finditer(text)
    ]


def read_sessions(page: Path) -> list[Session]:
    """Return the sessions of a page; `run: same` continues the session before."""
    sessions: list[Session] = []
    for block in read_blocks(page):
        if block.scene == _SAME:
            sessions[-1] = Session(sessions[-1].scene, (*sessions[-1].blocks, block))
        elif block.scene:
            sessions.append(Session(block.scene, (block,)))
    return sessions


def prose(text: str) -> str:
    """Return the text of a page without its blocks and comments."""
    return re.sub(r"<!--.*?-->", "", _without_blocks(text), flags=re.DOTALL)


def _without_blocks(text: str) -> str:
    # A comment in a shell looks like a heading. Offsets stay as they are.
    return _FENCED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and GitLab make them."""
    return {_anchor(match[1]) for match in _HEADING.finditer(_without_blocks(page.read_text()))}


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def links(page: Path) -> Iterator[str]:
    """Yield the target of every link and picture in a page."""
    yield from re.findall(r"\]\(([^)\s]+)\)", prose(page.read_text()))


def shown_form(output: str) -> str:
    """Return the output of a command as a page shows it: without empty lines around it and spaces at its end."""
    return output.strip("\n").rstrip()


def is_shown(shown: str, output: str) -> bool:
    """Say whether the output is the one that a page shows; a line `...` stands for one or more lines."""
    parts = [re.escape(part) for part in re.split(rf"^{re.escape(LEFT_OUT)}$", shown, flags=re.MULTILINE)]
    return re.fullmatch(r"(?:.*\n)*.*".join(parts), shown_form(output)) is not None
