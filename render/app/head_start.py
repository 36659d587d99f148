"""A head start for `lock`: the roots of a folder without a lock are asked for while the rest is imported.

Importing the solver, the rules and the views takes as long as two requests, and both can happen at the same time.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from render.app.operator_settings import OperatorSettings
from render.app.reporter import Reporter
from render.errors import RenderError
from render.lean import dataclass
from render.packages import Package
from render.references import Reference, Source
from render.system.files import LOCK_FILE, is_there
from render.versions.requests import Root

if TYPE_CHECKING:
    from render.app.world import World
    from render.inputs.projects import Inputs
    from render.resolve.model import Catalog


@dataclass(frozen=True, slots=True)
class HeadStart:
    """What was read and opened already, and the answers that are under way."""

    inputs: "Inputs"
    world: "World"
    answers: "Mapping[Source | Reference, Future[Any]]"

    def tags(self, source: Source, catalog: "Catalog") -> Sequence[str]:
        """Return all tags of a source, from the catalog if they were not asked for."""
        answer = self.answers.get(source)
        return answer.result() if answer else catalog.tags(source)

    def package(self, reference: Reference, catalog: "Catalog") -> Package:
        """Return the package that a reference names, from the catalog if it was not asked for."""
        answer = self.answers.get(reference)
        return answer.result() if answer else catalog.package(reference)


def start_requests(
    operator: OperatorSettings, reporter: Reporter, folder: Path, layouts: Sequence[tuple[str, Path]]
) -> HeadStart | None:
    """Ask for the roots of a folder; None if it has a lock, whose pins come first, or cannot be read."""
    if is_there(folder / LOCK_FILE):
        return None
    # Imported late: a lock that is up to date needs no HTTP.
    from render.app.trust.policies import read_policies
    from render.app.world import open_world
    from render.inputs.projects import read_inputs
    from render.policy.judge import Judge
    from render.rewrites import Rewrites

    try:
        inputs = read_inputs(folder, operator.limits, operator.environ)
        policies = read_policies(operator, inputs.settings)
        judge = Judge(policies, rewrites=Rewrites(inputs.rewrites), mirror=inputs.settings.mirror)
        world = open_world(operator, reporter)
        catalog = world.catalog([*layouts, *inputs.settings.layouts], inputs.rewrites)
    except RenderError:
        # Resolving meets the same error, and reports it.
        return None
    allowed = [root for root in inputs.roots if not judge.refuse_source(root.source, root.request.only_tag)]
    asked = [_question(root, catalog) for root in allowed[: operator.limits.parallel]]
    return HeadStart(inputs, world, {key: _start(ask) for key, ask in asked})


def _question(root: Root, catalog: "Catalog") -> tuple[Source | Reference, Callable[[], Any]]:
    """Return the first question about a root: its package if the tag is known, else the tags to choose from."""
    tag = root.request.only_tag
    if tag is None:
        return root.source, lambda: catalog.tags(root.source)
    reference = Reference(root.source, tag)
    return reference, lambda: catalog.package(reference)


def _start(ask: Callable[[], Any]) -> "Future[Any]":
    future: Future[Any] = Future()

    def answer() -> None:
        try:
            future.set_result(ask())
        except BaseException as error:
            future.set_exception(error)

    # A daemon: an error in the folder ends the command without waiting for a registry.
    Thread(target=answer, name="xplock-head-start", daemon=True).start()
    return future
