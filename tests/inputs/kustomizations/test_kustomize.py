"""kustomize makes the documents, reaches nothing that is not in the folder, and cannot misbehave for long."""

import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rig.time_limits import growing, written

from render.errors import RenderError
from render.inputs.kustomizations.checks import check_kustomizations, read_paths
from render.inputs.kustomizations.kustomize import (
    KustomizeFailed,
    KustomizeMissing,
    KustomizeSlow,
    build_kustomization,
)
from render.inputs.problems import InvalidInputs
from render.inputs.projects import Inputs, read_inputs
from render.limits import KIB, LimitExceeded, Limits

STORE = "xpkg.example.org/acme/provider-store"
PROVIDER = f"""
apiVersion: pkg.crossplane.io/v1
kind: Provider
metadata:
  name: store
spec:
  package: {STORE}:v1.0.0
"""
BUILTIN = (
    "{apiVersion: builtin, kind: PrefixTransformer, metadata: {name: x}, prefix: a-, "
    "fieldSpecs: [{kind: Provider, path: metadata/name}, {kind: Odd, path: a/b@c}]}"
)
EXEC = """
apiVersion: builtin
kind: PrefixTransformer
metadata:
  name: x
  annotations:
    config.kubernetes.io/function: "exec: {path: ./run.sh}"
"""


def write(folder: Path, kustomization: str, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kustomization.yaml").write_text(kustomization)
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def read(folder: Path) -> Inputs:
    return read_inputs(folder, Limits(), {"PATH": os.environ["PATH"]})


def tool(folder: Path, script: str, name: str = "kustomize") -> dict[str, str]:
    """Return an environment in which kustomize is this script."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return {"PATH": f"{folder}", "XPLOCK_GIT_TOKEN_FILE": "/token"}


def test_the_documents_are_those_that_kustomize_makes(tmp_path: Path) -> None:
    folder = write(tmp_path, "resources: [store.yaml]\nnamePrefix: my-\n", store=PROVIDER, other="{")
    (folder / "xplock.yaml").write_text("families: free")

    inputs = read(folder)

    assert [(root.name, root.place) for root in inputs.roots] == [
        ("my-store", "kustomization: Provider/my-store: spec.package")
    ]
    assert list(inputs.record) == [f"root {STORE}", "setting families"]


@pytest.mark.parametrize("name", ["kustomization.yml", "Kustomization"])
def test_a_kustomization_has_three_names(name: str, tmp_path: Path) -> None:
    folder = write(tmp_path, "resources: [store.yaml]\nnamePrefix: my-\n", store=PROVIDER)
    (folder / "kustomization.yaml").rename(folder / name)

    assert read(folder).roots[0].name == "my-store"


def test_packages_on_disk_are_read_beside_a_kustomization(tmp_path: Path) -> None:
    metadata = (
        "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\n"
        "spec: {dependsOn: [{function: xpkg.example.org/acme/f, version: '*'}]}"
    )

    inputs = read(write(tmp_path, "resources: [store.yaml]", store=PROVIDER, crossplane=metadata))

    assert len(inputs.roots) == 2


def test_a_base_above_is_built_on_within_the_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write(tmp_path / "base", "resources: [store.yaml]", store=PROVIDER)
    folder = write(tmp_path / "overlay", "resources: [../base]\nnamePrefix: my-\n")

    assert read(folder).roots[0].name == "my-store"


def test_a_base_outside_of_the_repository_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "base", "resources: [store.yaml]", store=PROVIDER)
    folder = write(tmp_path / "repository", "resources: [../base]")
    (folder / ".git").mkdir()

    assert check_kustomizations(folder, Limits()) == [
        "kustomization.yaml: resources[0]: '../base' is outside of the repository"
    ]


@pytest.mark.parametrize(
    "entry",
    [
        "{a/../../secret",
        "a\n/../../secret",
        "{}#/../../secret",
    ],
)
@pytest.mark.parametrize(
    "key", ["patchesStrategicMerge", "crds", "configurations", "generators", "transformers", "validators"]
)
@pytest.mark.parametrize("exists", [True, False])
def test_a_path_that_looks_like_yaml_does_not_leave_the_repository(
    key: str, entry: str, exists: bool, tmp_path: Path
) -> None:
    if exists:
        (tmp_path / "secret").write_text("")
    folder = write(tmp_path / "repository", json.dumps({key: [entry]}))
    (folder / ".git").mkdir()

    assert check_kustomizations(folder, Limits()) == [
        f"kustomization.yaml: {key}[0]: {entry!r} is outside of the repository"
    ]


@pytest.mark.parametrize(
    "entry",
    [
        "https://example.org/x.yaml",
        "HTTPS://example.org/x.yaml",
        "http://example.org/x",
        "ssh://git@example.org/x",
        "file:///etc",
        "git::https://example.org/x",
        "git::example.org/x",
        "git@example.org:x/y.git",
        "gh:org/repo",
        "github.com/org/repo",
        "GitHub.com/org/repo//path?ref=main",
        "example.org:org/repo",
        "example.org/org/repo?ref=main",
        "example.org/org/repo.git",
        "example.org/org/_git/repo",
        "gitlab.com/org/repo",
        "/etc",
        "nowhere",
    ],
)
@pytest.mark.parametrize("key", ["resources", "bases", "components"])
def test_a_remote_base_is_refused_before_anything_runs(key: str, entry: str, tmp_path: Path) -> None:
    folder = write(tmp_path, f"{key}: ['{entry}']")

    with pytest.raises(InvalidInputs) as caught:
        read_inputs(folder, Limits(), tool(tmp_path / "bin", f"touch {tmp_path}/ran"))

    (problem,) = caught.value.problems
    assert problem.startswith(f"kustomization.yaml: {key}[0]: ")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "text", ["resources: [{}]", "crds: [{}]", "patches: [{{path: {}}}]", "generators: [{}]"]
)
def test_a_null_character_is_no_part_of_a_path(text: str, tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text(text.format('"a\\0b"'))

    [problem] = check_kustomizations(tmp_path, Limits())

    assert problem.endswith("'a\\x00b' is no path")
    assert read_paths(tmp_path / "kustomization.yaml", Limits()) == []


def test_a_local_folder_does_not_hide_a_remote_one(tmp_path: Path) -> None:
    write(tmp_path / "github.com" / "org" / "repo", "resources: []")
    folder = write(tmp_path, "resources: [github.com/org/repo]")

    assert "looks remote" in check_kustomizations(folder, Limits())[0]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("crds: ['https://example.org/x']", "crds[0]"),
        ("configurations: ['https://example.org/x']", "configurations[0]"),
        ("openapi: {path: 'https://example.org/x'}", "openapi.path"),
        ("openapi: {PATH: 'https://example.org/x'}", "openapi.PATH"),
        ("patches: [{path: 'https://example.org/x'}]", "patches[0].path"),
        ("patchesJson6902: [{path: 'https://example.org/x'}]", "patchesJson6902[0].path"),
        ("patchesStrategicMerge: ['https://example.org/x']", "patchesStrategicMerge[0]"),
        ("replacements: [{path: 'https://example.org/x'}]", "replacements[0].path"),
        ("configMapGenerator: [{files: ['a=https://example.org/x']}]", "configMapGenerator[0].files[0]"),
        ("secretGenerator: [{envs: ['https://example.org/x']}]", "secretGenerator[0].envs[0]"),
        ("secretGenerator: [{env: 'https://example.org/x'}]", "secretGenerator[0].env"),
        ("RESOURCES: [store.yaml]", "RESOURCES"),
        ("remoteThings: []", "remoteThings"),
        ("helmCharts: [{name: x}]", "helmCharts"),
        ("helmChartInflationGenerator: []", "helmChartInflationGenerator"),
        ("generators: ['https://example.org/x']", "generators[0]"),
        ("generators: [plugin.yaml]", "generators[0]"),
        ("transformers: [exec.yaml]", "transformers[0]"),
        ("validators: [exec.yaml]", "validators[0]"),
        ("generators: ['{apiVersion: builtin, kind: HelmChartInflationGenerator}']", "generators[0]"),
        (
            "transformers: ['{apiVersion: builtin, kind: PatchTransformer, path: \"https://example.org\"}']",
            "transformers[0].path",
        ),
        ("generators: [nowhere.yaml]", "generators[0]"),
        ("resources: nothing", "resources"),
        ("resources: [1]", "resources[0]"),
        ("resources: [&a store.yaml, *b]", "line 1"),
        ("{}\n---\n{}", "expected one document, a mapping"),
        ("[]", "expected one document, a mapping"),
    ],
)
def test_what_fetches_or_runs_something_is_refused_with_its_place(
    text: str, place: str, tmp_path: Path
) -> None:
    plugin = "{apiVersion: example.org/v1, kind: Plugin, metadata: {name: x}}"
    folder = write(tmp_path, text, store=PROVIDER, exec=EXEC, plugin=plugin)

    problems = check_kustomizations(folder, Limits())

    assert problems[0].startswith(f"kustomization.yaml: {place}")
    assert len(problems) == 1


def test_a_chart_is_refused_with_the_reason(tmp_path: Path) -> None:
    (problem,) = check_kustomizations(write(tmp_path, "helmCharts: [{name: x}]"), Limits())

    assert problem == "kustomization.yaml: helmCharts: charts are not inflated, since that runs helm"


def test_what_stays_inside_is_allowed(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        f"""
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [store.yaml, sub]
transformers: ['{BUILTIN}']
patches:
- target: {{kind: Provider}}
  patch: |-
    - op: add
      path: /metadata/annotations
      value: {{see: "https://example.org/?a=b"}}
configMapGenerator:
- name: settings
  literals: [url=https://example.org]
""",
        store=PROVIDER,
    )
    write(folder / "sub", "resources: [net.yaml]", net=PROVIDER.replace("store", "net"))

    assert check_kustomizations(folder, Limits()) == []
    assert [root.name for root in read(folder).roots] == ["a-net", "a-store"]


def test_what_is_wrong_further_down_is_found_with_its_file(tmp_path: Path) -> None:
    write(tmp_path / "a" / "b", "resources: ['https://example.org/x']")
    write(tmp_path / "a", "components: [b, ../a]")
    folder = write(tmp_path, "resources: [a]")

    (problem,) = check_kustomizations(folder, Limits())

    assert problem.startswith("a/b/kustomization.yaml: resources[0]: 'https://example.org/x' looks remote")


def test_a_folder_without_a_kustomization_is_no_base(tmp_path: Path) -> None:
    folder = write(tmp_path, "resources: [a]")
    (folder / "a").mkdir()

    assert check_kustomizations(folder, Limits()) == ["a: expected one kustomization, found none"]


def test_very_many_kustomizations_are_an_error_that_names_the_limit(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(5):
        folder = write(folder, "resources: [a]") / "a"

    with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_KUSTOMIZATIONS"):
        check_kustomizations(tmp_path, replace(Limits(), kustomizations=3))


@pytest.mark.parametrize("path", ["../../secret", "link"])
def test_a_file_outside_of_the_folder_is_not_read(path: str, tmp_path: Path, canary: str) -> None:
    (tmp_path / "secret").write_text(canary)
    text = f"resources: [store.yaml]\nconfigMapGenerator: [{{name: x, files: ['{path}']}}]"
    folder = write(tmp_path / "a" / "b", text, store=PROVIDER)
    (folder / "link").symlink_to(tmp_path / "secret")

    with pytest.raises(KustomizeFailed) as caught:
        read(folder)

    assert "is not in or below" in str(caught.value)
    assert canary not in str(caught.value)


def test_a_kustomization_that_is_a_link_out_of_its_folder_is_refused(tmp_path: Path, canary: str) -> None:
    (tmp_path / "secret").write_text(canary)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "kustomization.yaml").symlink_to(tmp_path / "secret")

    with pytest.raises(InvalidInputs) as caught:
        read(folder)

    assert "outside of its folder" in str(caught.value)
    assert canary not in str(caught.value)


def test_a_failure_is_the_same_text_every_time_and_shows_no_secret(tmp_path: Path, canary: str) -> None:
    script = (
        'echo "E1116 12:20:52.$$ $$ run.go:72] get https://user:$CANARY@x.io/?t=$CANARY in $PWD/a" >&2\n'
        "printf '\\033[31mred' >&2; exit 3"
    ).replace("$CANARY", canary)
    folder = write(tmp_path / "project", "{}")
    environ = tool(tmp_path / "bin", script)

    def fail() -> str:
        with pytest.raises(KustomizeFailed) as caught:
            build_kustomization(folder, Limits(), environ)
        return str(caught.value)

    assert fail() == fail()
    assert "get https://***@x.io/?t=*** in ./a" in fail()
    assert "\\x1b[31mred" in fail()
    assert canary not in fail()


def test_folders_are_told_as_they_are_seen_from_the_project(tmp_path: Path) -> None:
    folder = write(tmp_path / "tree/clusters/shop", "{}")
    above = f"'{tmp_path}/tree/base/x', {tmp_path}/tree: {tmp_path}/tree/clusters/shopping (in {folder})"
    others = f"{tmp_path}/trees not{tmp_path}/tree /usr/bin"
    environ = tool(
        tmp_path / "bin", f'echo "{above}" >&2; echo "{others} $HOME/.config in $TMPDIR" >&2; exit 3'
    )

    with pytest.raises(KustomizeFailed) as caught:
        build_kustomization(folder, Limits(), environ)

    assert caught.value.why == (
        "'../../base/x', ../..: ../shopping (in .)",
        f"../../../trees not{tmp_path}/tree /usr/bin ~/.config in ~",
    )


def test_a_tool_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    environ = tool(tmp_path / "bin", f"/bin/sleep 600 & echo $! > {pid_file}; wait")

    for seconds in growing(1, until=written(pid_file)):
        with pytest.raises(KustomizeSlow, match="XPLOCK_LIMIT_KUSTOMIZE_SECONDS"):
            build_kustomization(tmp_path, replace(Limits(), kustomize_seconds=int(seconds)), environ)

    assert _ended(int(pid_file.read_text()))


def test_a_tool_that_closes_its_output_and_goes_on_is_ended(tmp_path: Path) -> None:
    environ = tool(tmp_path / "bin", "exec >&- 2>&-; exec /bin/sleep 600")

    with pytest.raises(KustomizeSlow):
        build_kustomization(tmp_path, replace(Limits(), kustomize_seconds=1), environ)


@pytest.mark.parametrize(
    ("stream", "limit"),
    [(">&1", "XPLOCK_LIMIT_KUSTOMIZE_BYTES"), (">&2", "XPLOCK_LIMIT_KUSTOMIZE_SECONDS")],
)
def test_a_tool_that_floods_us_is_stopped(stream: str, limit: str, tmp_path: Path) -> None:
    environ = tool(
        tmp_path / "bin", f"while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa {stream}; done"
    )
    limits = replace(Limits(), kustomize_bytes=100 * KIB, kustomize_seconds=2)

    with pytest.raises(RenderError, match=limit):
        build_kustomization(tmp_path, limits, environ)


def test_a_long_complaint_of_a_tool_is_shortened(tmp_path: Path) -> None:
    environ = tool(
        tmp_path / "bin", "i=0; while [ $i -lt 5000 ]; do echo line $i >&2; i=$((i+1)); done; exit 1"
    )

    with pytest.raises(KustomizeFailed) as caught:
        build_kustomization(tmp_path, Limits(), environ)

    assert len(caught.value.why) == 10


def test_the_tool_gets_a_fixed_command_and_nobodys_environment(tmp_path: Path) -> None:
    folder = write(tmp_path / "project", "{}")
    environ = tool(tmp_path / "bin", 'echo "$0 $*"; pwd; /usr/bin/env')

    lines = build_kustomization(folder, Limits(), environ).decode().splitlines()

    assert lines[0] == f"{tmp_path}/bin/kustomize build --load-restrictor=LoadRestrictionsRootOnly ."
    assert lines[1] == str(folder)
    seen = dict(line.split("=", 1) for line in lines[2:])
    assert seen.keys() - {"PWD", "_", "SHLVL", "OLDPWD"} == {
        "PATH", "HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "TMPDIR", "HTTP_PROXY", "HTTPS_PROXY",
    }  # fmt: skip
    assert seen["PATH"] == f"{tmp_path}/bin"
    assert seen["HOME"] == seen["XDG_CONFIG_HOME"] not in ("", os.environ["HOME"])
    assert not Path(seen["HOME"]).exists()


def test_a_tool_that_lives_beside_git_gets_no_path(tmp_path: Path) -> None:
    tool(tmp_path / "bin", "exit 1", name="git")
    environ = tool(tmp_path / "bin", 'echo "PATH=$PATH"; command -v git || echo none')

    assert build_kustomization(tmp_path, Limits(), environ) == b"PATH=\nnone\n"


def test_kubectl_stands_in_for_kustomize(tmp_path: Path) -> None:
    environ = tool(tmp_path / "bin", 'echo "$*"', name="kubectl")

    output = build_kustomization(tmp_path, Limits(), environ)

    assert output == b"kustomize --load-restrictor=LoadRestrictionsRootOnly .\n"


@pytest.mark.parametrize("path", ["", ".", ":.:"])
def test_no_tool_is_taken_from_the_folder_we_stand_in(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool(tmp_path, "exit 0")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(KustomizeMissing, match="neither kustomize nor kubectl"):
        build_kustomization(tmp_path, Limits(), {"PATH": path})


def test_problems_of_the_settings_come_before_anything_runs(tmp_path: Path) -> None:
    folder = write(tmp_path / "project", "resources: ['https://example.org/x']", xplock="rotos: []")

    with pytest.raises(InvalidInputs) as caught:
        read(folder)

    assert [problem.split(": ")[0] for problem in caught.value.problems] == [
        "kustomization.yaml",
        "xplock.yaml",
    ]


def _ended(pid: int) -> bool:
    return _within(60, lambda: not _runs(pid))


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def _within(seconds: float, holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_the_home_that_kustomize_was_given_is_not_told(tmp_path: Path) -> None:
    folder = write(tmp_path / "shop", "resources: []\n")
    says = tool(tmp_path / "bin", 'echo "cannot write $HOME/cache in $HOME" >&2; exit 1')

    with pytest.raises(KustomizeFailed) as caught:
        build_kustomization(folder, Limits(), says)

    assert caught.value.why == ("cannot write ~/cache in ~",)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            "configMapGenerator: [{name: a, file\u017f: ['http://127.0.0.1:1/']}]",
            "configMapGenerator[0].file\u017f",
        ),
        ("secretGenerator: [{name: a, FILES: [a]}]", "secretGenerator[0].FILES"),
        (
            "configMapGenerator: [{name: a, options: {fileSources: [a]}}]",
            "configMapGenerator[0].options.fileSources",
        ),
        ("patches: [{path: store.yaml, Path: a}]", "patches[0].Path"),
        ("patches: [{patch: a, target: {\u212aind: a}}]", "patches[0].target.\u212aind"),
        ("patchesJson6902: [{paTh: a}]", "patchesJson6902[0].paTh"),
        ("replacements: [{source: {Kind: a}}]", "replacements[0].source.Kind"),
        ("replacements: [{targets: [{select: {files: [a]}}]}]", "replacements[0].targets[0].select.files"),
        ("openapi: {PATH: a}", "openapi.PATH"),
        ("images: [{name: a, path: b}]", "images[0].path"),
        ("labels: [{pairs: {a: b}, Fields: []}]", "labels[0].Fields"),
        ("vars: [{name: a, objRef: {kind: a}}]", "vars[0].objRef"),
        ("sortOptions: {order: legacy, path: a}", "sortOptions.path"),
        ("generatorOptions: {envs: [a]}", "generatorOptions.envs"),
        ("metadata: {name: a, Name: b}", "metadata.Name"),
        ("re\u017fources: [store.yaml]", "re\u017fources"),
    ],
)
def test_a_key_that_is_not_known_at_its_level_is_refused(text: str, place: str, tmp_path: Path) -> None:
    folder = write(tmp_path, text, store=PROVIDER)

    (problem,) = check_kustomizations(folder, Limits())

    assert problem == (
        f"kustomization.yaml: {place}: unknown key, which might fetch something or run a program"
    )


EVERY_LEVEL = """
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
metadata: {name: a, labels: {any: b}, annotations: {any: b}}
resources: [store.yaml]
labels: [{pairs: {any: b}, includeSelectors: false, includeTemplates: false, fields: [{path: a/b, create: true}]}]
images: [{name: a, newName: b, newTag: c, digest: d}]
replicas: [{name: a, count: 1}]
vars: [{name: A, objref: {apiVersion: v1, kind: a, name: b}, fieldref: {fieldpath: a.b}}]
sortOptions: {order: legacy, legacySortOptions: {orderFirst: [], orderLast: []}}
generatorOptions: {disableNameSuffixHash: true, immutable: true, labels: {any: b}, annotations: {any: b}}
patches:
  - {patch: a, target: {group: a, version: v1, kind: b, name: c, namespace: d, labelSelector: e, annotationSelector: f},
     options: {allowNameChange: true, allowKindChange: true}}
replacements:
  - source: {group: a, version: v1, kind: b, name: c, namespace: d, fieldPath: a, options: {delimiter: /, index: 1}}
    targets:
      - {select: {kind: a}, reject: [{kind: b}], fieldPaths: [a.b], options: {create: true, encoding: base64}}
configMapGenerator:
  - {name: a, namespace: b, behavior: create, literals: [a=b], files: [store.yaml], envs: [], options: {labels: {any: b}}}
secretGenerator: [{name: a, type: Opaque, literals: [a=b]}]
openapi: {path: store.yaml}
"""


def test_the_keys_of_kustomize_are_known_at_every_level(tmp_path: Path) -> None:
    folder = write(tmp_path, EVERY_LEVEL, store=PROVIDER)

    assert check_kustomizations(folder, Limits()) == []


@pytest.mark.parametrize("key", ["generators", "transformers", "validators"])
@pytest.mark.parametrize(
    ("plugin", "problem"),
    [
        ("{apiVersion: builtin, kind: X, file\u017f: ['http://127.0.0.1:1/']}", "looks remote"),
        ("{apiVersion: builtin, kind: X, a: [{ENV\u017f: '../../x'}]}", "outside of"),
        ("{apiVersion: builtin, kind: X, Kind: Y}", "the key 'Kind' has to be spelled 'kind'"),
        (
            "{apiVersion: builtin, kind: X, metadata: {Annotation\u017f: {}}}",
            "has to be spelled 'annotations'",
        ),
        (
            "{apiVersion: builtin, kind: AnyList, items: [{apiVersion: v1}]}",
            "only kustomize's builtin plugins",
        ),
        ("{apiVersion: builtin, kind: X, items: []}", "only kustomize's builtin plugins"),
    ],
)
def test_plugins_are_read_as_kustomize_reads_them(
    key: str, plugin: str, problem: str, tmp_path: Path
) -> None:
    folder = write(tmp_path, f'{key}: ["{plugin}"]')
    (folder / ".git").mkdir()

    assert problem in "".join(check_kustomizations(folder, Limits()))


@pytest.mark.parametrize(
    "text",
    [
        "resources: [store.yaml]\n<<: {resources: ['http://127.0.0.1:1/']}",
        "patches: [{patch: a, <<: {path: a}}]",
    ],
)
def test_merge_keys_are_refused_since_kustomize_merges_otherwise(text: str, tmp_path: Path) -> None:
    folder = write(tmp_path, text, store=PROVIDER)

    (problem,) = check_kustomizations(folder, Limits())

    assert "merge keys are not allowed here" in problem


def test_a_kustomization_may_have_anchors(tmp_path: Path) -> None:
    folder = write(tmp_path, "namePrefix: &a my-\nnameSuffix: *a\nresources: [store.yaml]", store=PROVIDER)

    assert check_kustomizations(folder, Limits()) == []


CONFLICT = "a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> other\n"
TOLD = "line 2: a conflict marker of Git; choose a side in this file, and remove the markers"


@pytest.mark.parametrize(
    ("name", "kustomization", "place"),
    [
        ("kustomization.yaml", "", "kustomization.yaml"),
        ("cm.yaml", "resources: [cm.yaml]", "kustomization.yaml: resources[0]: cm.yaml"),
        ("base/kustomization.yaml", "resources: [base]", "base/kustomization.yaml"),
        ("p.yaml", "patches: [{path: p.yaml}]", "kustomization.yaml: patches[0].path: p.yaml"),
    ],
)
def test_a_conflict_marker_has_its_place_in_every_file_of_a_kustomization(
    tmp_path: Path, name: str, kustomization: str, place: str
) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "kustomization.yaml").write_text(f"{kustomization}\n")
    (tmp_path / name).write_text(CONFLICT)

    assert check_kustomizations(tmp_path, Limits()) == [f"{place}: {TOLD}"]


def test_the_content_of_a_generator_may_look_like_a_conflict(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("configMapGenerator: [{name: a, files: [a.txt]}]\n")
    (tmp_path / "a.txt").write_text(CONFLICT)

    assert check_kustomizations(tmp_path, Limits()) == []
