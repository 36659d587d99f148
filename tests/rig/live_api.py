"""A server that answers kubectl as a cluster's API does: what it serves, and lists of objects."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from rig.registry.http_server import Answer, RecordingServer, Request, answer

_PACKAGES = {
    "providers": "Provider",
    "configurations": "Configuration",
    "functions": "Function",
    "providerrevisions": "ProviderRevision",
    "configurationrevisions": "ConfigurationRevision",
    "functionrevisions": "FunctionRevision",
    "locks": "Lock",
    "imageconfigs": "ImageConfig",
    "deploymentruntimeconfigs": "DeploymentRuntimeConfig",
}
_DEPLOYMENTS = {"name": "deployments", "kind": "Deployment", "namespaced": True, "verbs": ["get", "list"]}
_JSON = [("Content-Type", "application/json")]


class LiveApi:
    """A cluster's API with some objects; kinds may be forbidden, or not be served."""

    def __init__(
        self,
        objects: Iterable[Mapping[str, Any]],
        *,
        forbidden: Sequence[str] = (),
        missing: Sequence[str] = (),
    ) -> None:
        self._objects = list(objects)
        self._forbidden, self._missing = forbidden, missing
        self.server = RecordingServer(self._answer)

    def kubeconfig(self, folder: Path) -> Path:
        """Write a kubeconfig for it, with the context "made-up"."""
        path = folder / "kubeconfig"
        settings = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "made-up", "cluster": {"server": f"http://{self.server.host}"}}],
            "users": [{"name": "made-up", "user": {}}],
            "contexts": [{"name": "made-up", "context": {"cluster": "made-up", "user": "made-up"}}],
            "current-context": "made-up",
        }
        path.write_text(yaml.safe_dump(settings))
        return path

    def asked(self) -> list[str]:
        """Return the kinds whose objects were asked for, in order, and everything but reading."""
        return [
            one.path.rpartition("/")[2] if one.method == "GET" else f"{one.method} {one.path}"
            for one in self.server.requests
            if one.method != "GET" or one.path.count("/") > 3
        ]

    def _answer(self, request: Request) -> Answer:
        group, _, plural = request.path.removeprefix("/apis/").rpartition("/")
        kind = self._served().get(plural)
        if request.path == "/api":
            return _json({"kind": "APIVersions", "versions": ["v1"]})
        if request.path == "/apis":
            return _json(_groups())
        if request.path == "/apis/pkg.crossplane.io/v1":
            return _json({"kind": "APIResourceList", "groupVersion": "pkg.crossplane.io/v1", "resources": self._resources()})  # fmt: skip
        if request.path == "/apis/apps/v1":
            return _json({"kind": "APIResourceList", "groupVersion": "apps/v1", "resources": [_DEPLOYMENTS]})
        if request.path == "/apis/apps/v1/deployments":
            return _json({"apiVersion": "apps/v1", "kind": "DeploymentList", "metadata": {}, "items": self._of("Deployment")})  # fmt: skip
        if kind is None or group != "pkg.crossplane.io/v1":
            return _json({"kind": "APIResourceList", "resources": []}, 404 if plural.islower() else 200)
        if plural in self._forbidden:
            return _json(_status(f'{plural}.pkg.crossplane.io is forbidden: User "made-up" cannot list them'), 403)  # fmt: skip
        items = [{**one, "apiVersion": group} for one in self._of(kind)]
        return _json({"apiVersion": "pkg.crossplane.io/v1", "kind": f"{kind}List", "metadata": {}, "items": items})  # fmt: skip

    def _of(self, kind: str) -> list[Mapping[str, Any]]:
        return [one for one in self._objects if one["kind"] == kind]

    def _served(self) -> dict[str, str]:
        return {plural: kind for plural, kind in _PACKAGES.items() if plural not in self._missing}

    def _resources(self) -> list[dict[str, Any]]:
        return [
            {"name": plural, "kind": kind, "namespaced": False, "verbs": ["get", "list"]}
            for plural, kind in self._served().items()
        ]


def _groups() -> dict[str, Any]:
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [_group("pkg.crossplane.io"), _group("apps")],
    }


def _group(name: str) -> dict[str, Any]:
    version = {"groupVersion": f"{name}/v1", "version": "v1"}
    return {"name": name, "versions": [version], "preferredVersion": version}


def _status(message: str) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": "Forbidden",
        "message": message,
        "code": 403,
    }


def _json(value: Any, status: int = 200) -> Answer:
    return answer(status, json.dumps(value).encode(), _JSON)
