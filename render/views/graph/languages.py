"""A picture in languages that other tools draw: Mermaid and DOT."""

import re

from render.texts import visible
from render.views.graph.model import Change, Graph, Life, Node

_CHANGES = {
    Change.ADDED: "fill:#dafbe1,stroke:#1a7f37,color:#1f2328",
    Change.UPDATED: "fill:#fff8c5,stroke:#9a6700,color:#1f2328",
    Change.MOVED: "fill:#fbefff,stroke:#8250df,color:#1f2328",
    Change.CHANGED: "fill:#ddf4ff,stroke:#0969da,color:#1f2328",
    Change.REMOVED: "fill:#ffebe9,stroke:#cf222e,color:#1f2328,stroke-dasharray:4",
}
_LIVES = {
    Life.DEACTIVATED: "stroke-dasharray:2,color:#6e7781",
    Life.ORPHANED: "stroke-dasharray:4",
    Life.PROVIDED: "stroke-dasharray:1",
}
# What Mermaid would read as markup, a link or the end of a text; it has codes for characters.
_UNSAFE = re.compile(r"[^\w ./:@+,=*^~-]")


def format_mermaid(graph: Graph) -> str:
    """Write a picture as a Mermaid flowchart, which Git servers draw in pull requests."""
    names = {node.key: f"p{i}" for i, node in enumerate(graph.nodes)}
    lines = ["flowchart TD"]
    lines += [f'  {names[node.key]}["{_mermaid_text(node)}"]' for node in graph.nodes]
    for edge in graph.edges:
        arrow = "-.->" if edge.is_dashed else "-->"
        lines.append(f'  {names[edge.start]} {arrow}|"{_coded(edge.constraint)}"| {names[edge.end]}')
    for word, style in [*_CHANGES.items(), *_LIVES.items()]:
        found = [names[node.key] for node in graph.nodes if word in (node.change, node.life)]
        if found:
            lines += [f"  classDef {word} {style}", f"  class {','.join(found)} {word}"]
    return "".join(f"{line}\n" for line in lines)


def _mermaid_text(node: Node) -> str:
    return "<br>".join(_coded(text) for text in [node.label, *_told(node)])


def _coded(text: str) -> str:
    return _UNSAFE.sub(lambda match: f"#{ord(match[0])};", visible(text))


def format_dot(graph: Graph) -> str:
    """Write a picture in DOT, for Graphviz."""
    lines = [
        "digraph lock {",
        "  rankdir=TB;",
        '  node [shape=box, style=rounded, fontname="Helvetica", fontsize=10];',
        '  edge [fontname="Helvetica", fontsize=8];',
    ]
    for node in graph.nodes:
        label = "\\n".join(map(_escaped, [node.label, *_told(node)]))
        extra = ", style=dashed" if node.life in _LIVES or node.change is Change.REMOVED else ""
        lines.append(f'  "{_escaped(node.key)}" [label="{label}"{extra}];')
    for edge in graph.edges:
        extra = ", style=dashed" if edge.is_dashed else ""
        ends = f'"{_escaped(edge.start)}" -> "{_escaped(edge.end)}"'
        lines.append(f'  {ends} [label="{_escaped(edge.constraint)}"{extra}];')
    return "".join(f"{line}\n" for line in [*lines, "}"])


def _escaped(text: str) -> str:
    return visible(text).replace("\\", "\\\\").replace('"', '\\"')


def _told(node: Node) -> list[str]:
    """Return the lines below the name of a package."""
    version = f"{node.before} -> {node.version}" if node.has_other_version else node.version
    change = [node.change.value] if node.change else []
    state = [node.life.value] if node.life is not Life.ATTACHED else []
    return [f"{node.kind} {version}", *([", ".join([*change, *state])] if change or state else [])]
