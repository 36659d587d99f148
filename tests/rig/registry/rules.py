"""Rules for a proxy in front of a registry: answers of its own for some requests."""

from collections.abc import Callable

from rig.registry.http_server import Answer, Request, answer
from rig.registry.proxy import Rule


def when(method: str, part: str, give: Answer | Callable[[Request], Answer]) -> Rule:
    """Return a rule for requests with a method and a part of a path."""

    def rule(request: Request) -> Answer | None:
        if request.method != method or part not in request.target:
            return None
        return give if isinstance(give, Answer) else give(request)

    return rule


def requiring(login: str) -> Rule:
    """Return a rule that wants a user and a password, and hides both from the registry behind it."""

    def rule(request: Request) -> Answer | None:
        if request.credentials != login:
            return answer(401, headers={"WWW-Authenticate": 'Basic realm="here"'})
        del request.headers["Authorization"]
        return None

    return rule
