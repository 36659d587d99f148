"""A small Git server that speaks as much of Gitea's API as Renovate needs to push branches and open pull requests."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rig.git.repositories import git, serve
from rig.registry.http_server import Answer, Request, answer

TOKEN = "made-up-token-of-the-robot"
ROBOT = {"id": 1, "username": "robot", "full_name": "Robot", "email": "robot@example.org"}
_API = "/api/v1"


@dataclass(slots=True)
class Gitea:
    """The repositories below a folder, and the pull requests of one of them; `url` is set once the server runs."""

    folder: Path
    name: str
    url: str = ""
    pulls: list[dict[str, Any]] = field(default_factory=list)

    @property
    def repository(self) -> Path:
        """The bare repository itself."""
        return self.folder / f"{self.name}.git"

    @property
    def settings(self) -> Mapping[str, str]:
        """What a Renovate is told about the server."""
        return {
            "RENOVATE_PLATFORM": "gitea",
            "RENOVATE_ENDPOINT": f"{self.url}{_API}",
            "RENOVATE_TOKEN": TOKEN,
            "RENOVATE_REPOSITORIES": self.name,
        }

    def answer(self, request: Request) -> Answer:
        """Answer for the API, or for git."""
        if not request.path.startswith(_API):
            return _git(self.folder, request)
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return _json({"message": "token is required"}, 401)
        path = request.path.removeprefix(_API)
        for pattern, respond in self._routes().items():
            if re.fullmatch(pattern, f"{request.method} {path}"):
                return respond(request)
        return _json({"message": "not found"}, 404)

    def _routes(self) -> dict[str, Callable[[Request], Answer]]:
        here = f"/repos/{re.escape(self.name)}"
        return {
            "GET /user": lambda _: _json(ROBOT),
            "GET /version": lambda _: _json({"version": "1.22.0"}),
            f"GET {here}": lambda _: _json(self._describe()),
            f"GET {here}/(issues|labels)": lambda _: _json([]),
            f"GET {here}/commits/.+/statuses": lambda _: _json([]),
            f"GET {here}/branches/.+": self._branch,
            f"GET {here}/pulls": lambda _: _json(self.pulls),
            rf"GET {here}/pulls/\d+": lambda request: _json(self.pulls[int(request.path.split("/")[-1]) - 1]),
            f"POST {here}/pulls": self._open,
        }

    def _describe(self) -> dict[str, Any]:
        return {
            "id": 7,
            "full_name": self.name,
            "default_branch": "main",
            "clone_url": f"{self.url}/{self.name}.git",
            "permissions": {"pull": True, "push": True, "admin": False},
            "allow_merge_commits": True,
            "has_issues": False,
            "has_pull_requests": True,
        }

    def _branch(self, request: Request) -> Answer:
        name = request.path.partition("/branches/")[2].replace("%2F", "/")
        return _json({"name": name, "commit": {"id": git(self.repository, "rev-parse", name)}})

    def _open(self, request: Request) -> Answer:
        asked = json.loads(request.body)
        head = {"ref": asked["head"], "label": asked["head"], "repo": {"full_name": self.name}}
        pull = {
            "number": len(self.pulls) + 1,
            "state": "open",
            "title": asked["title"],
            "body": asked["body"],
            "user": ROBOT,
            "mergeable": True,
            "created_at": "2026-01-01T12:00:00Z",
            "updated_at": "2026-01-01T12:00:00Z",
            "base": {"ref": asked["base"]},
            "head": {**head, "sha": git(self.repository, "rev-parse", asked["head"])},
        }
        self.pulls.append(pull)
        return _json(pull, 201)


def _git(folder: Path, request: Request) -> Answer:
    # The token is the user's name, as in the URLs that Renovate clones from.
    allowed = serve(folder, f"{TOKEN}:")(request)
    assert allowed is not None
    return allowed


def _json(document: object, status: int = 200) -> Answer:
    return answer(status, json.dumps(document).encode(), {"Content-Type": "application/json"})
