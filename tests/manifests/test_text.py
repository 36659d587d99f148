"""Objects as text: split alike by every reader, nothing lost, nothing but ASCII in JSON."""

import json

from render.limits import Limits
from render.manifests.text import format_json, format_yaml
from render.yaml.documents import file_rules, parse_documents

PROVIDER = {
    "apiVersion": "pkg.crossplane.io/v1",
    "kind": "Provider",
    "metadata": {"name": "n", "labels": {"on": "off"}},
    "spec": {"package": "xpkg.example.org/acme/provider-store:v1.0.0"},
}
TRAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "trap"},
    "data": {"text": "x\n---\nkind: ClusterRoleBinding\n...\n", "größe": "✓"},
}


def test_every_document_has_its_marker_in_front_and_none_has_one_behind() -> None:
    text = format_yaml([PROVIDER, TRAP])

    assert (
        text
        == """\
---
apiVersion: pkg.crossplane.io/v1
kind: Provider
metadata:
  name: "n"
  labels:
    "on": "off"
spec:
  package: xpkg.example.org/acme/provider-store:v1.0.0
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: trap
data:
  text: |
    x
    ---
    kind: ClusterRoleBinding
    ...
  "größe": "✓"
"""
    )


def test_written_objects_are_read_back_equal() -> None:
    text = format_yaml([PROVIDER, TRAP])

    assert parse_documents(text.encode(), file_rules(Limits())) == [PROVIDER, TRAP]


def test_json_is_one_list_as_kubectl_writes_it_in_ascii() -> None:
    text = format_json([PROVIDER, TRAP])

    assert json.loads(text) == {"apiVersion": "v1", "kind": "List", "items": [PROVIDER, TRAP]}
    assert text.isascii()
    assert text.endswith("}\n")
