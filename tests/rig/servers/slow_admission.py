"""An API server that takes a while to create packages for Argo CD, so that Crossplane comes in between."""

import base64
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rig.registry.http_server import Answer, RecordingServer, Request, answer, make_certificate
from rig.servers.client import Client, Object
from rig.servers.kinds import Resource

_WEBHOOKS = Resource("admissionregistration.k8s.io/v1", "validatingwebhookconfigurations")
_NAME = "slow.tests.example.org"
_IS_ARGO_CD = "'argocd.argoproj.io/tracking-id' in object.metadata.?annotations.orValue({})"


@contextmanager
def slow_admission(client: Client, folder: Path, seconds: float) -> Iterator[None]:
    """Let every creation of a package by Argo CD take so long; everybody else's are as quick as ever."""
    certificate = make_certificate(folder)

    def admit(request: Request) -> Answer:
        time.sleep(seconds)
        review = json.loads(request.body)
        response = {"uid": review["request"]["uid"], "allowed": True}
        body = json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response})
        return answer(body=body.encode(), headers={"Content-Type": "application/json"})

    with RecordingServer(admit, certificate=certificate) as server:
        authority = base64.b64encode(certificate.file.read_bytes()).decode()
        client.apply(_WEBHOOKS, _configuration(f"{server.url}/", authority))
        try:
            yield
        finally:
            client.delete(_WEBHOOKS, _NAME)


def _configuration(url: str, authority: str) -> Object:
    packages = {
        "apiGroups": ["pkg.crossplane.io"],
        "apiVersions": ["*"],
        "operations": ["CREATE"],
        "resources": ["providers", "configurations", "functions"],
    }
    webhook = {
        "name": _NAME,
        "clientConfig": {"url": url, "caBundle": authority},
        "rules": [packages],
        "matchConditions": [{"name": "argo-cd", "expression": _IS_ARGO_CD}],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "timeoutSeconds": 30,
    }
    return {
        "apiVersion": _WEBHOOKS.api,
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": _NAME},
        "webhooks": [webhook],
    }
