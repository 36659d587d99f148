"""A folder becomes inputs as a whole, or an error that names everything that is wrong with it."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from render.inputs.problems import InvalidInputs
from render.inputs.projects import Inputs, NothingAsked, read_inputs
from render.limits import MIB, LimitExceeded, Limits
from render.settings import Families

STORE = "xpkg.example.org/acme/provider-store"
NET = "xpkg.example.org/acme/provider-net"

PROVIDER = f"""
apiVersion: pkg.crossplane.io/v1
kind: Provider
metadata:
  name: store
  labels: {{tier: one, team: data}}
spec:
  package: {STORE}:v1.0.0
  revisionHistoryLimit: 3
"""
FUNCTION = f"""
apiVersion: pkg.crossplane.io/v1
kind: Function
metadata: {{name: net}}
spec: {{package: {NET}}}
"""
MIRROR = """
apiVersion: pkg.crossplane.io/v1beta1
kind: ImageConfig
metadata: {name: mirror}
spec:
  matchImages: [{prefix: xpkg.example.org/}]
  rewriteImage: {prefix: mirror.corp/}
"""
NAMESPACE = """
apiVersion: v1
kind: Namespace
metadata: {name: data}
"""
SETTINGS = """
families: free
rewrites: [{from: xpkg.io/, to: mirror.corp/}]
"""


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name.replace('_', '.')}.yaml").write_text(text)
    return folder


def read(folder: Path, limits: Limits | None = None) -> Inputs:
    return read_inputs(folder, limits or Limits(), {})


def problems_of(folder: Path, limits: Limits | None = None) -> list[str]:
    with pytest.raises(InvalidInputs) as caught:
        read(folder, limits)
    assert caught.value.exit_code == 2
    return caught.value.problems


def test_one_manifest_is_a_project(tmp_path: Path) -> None:
    inputs = read(write(tmp_path, store=PROVIDER))

    assert [str(root.source) for root in inputs.roots] == [STORE]
    assert inputs.roots[0].place == "store.yaml: spec.package"
    assert list(inputs.record) == [f"root {STORE}"]


def test_everything_in_a_folder_comes_together(tmp_path: Path) -> None:
    metadata = f"""
apiVersion: meta.pkg.crossplane.io/v1
kind: Configuration
metadata: {{name: shop}}
spec: {{dependsOn: [{{function: {NET}, version: "*"}}]}}
"""
    write(tmp_path, a=PROVIDER + "---" + MIRROR, b=NAMESPACE, crossplane=metadata, xplock=SETTINGS)
    write(tmp_path, crossplane_lock="not read")

    inputs = read(tmp_path)

    assert [(str(root.source), root.place) for root in inputs.roots] == [
        (NET, "crossplane.yaml: spec.dependsOn[0]"),
        (STORE, "a.yaml: document 1: spec.package"),
    ]
    assert inputs.settings.families is Families.FREE
    assert [rewrite.prefix for rewrite in inputs.rewrites] == ["xpkg.example.org/", "xpkg.io/"]
    assert [value["kind"] for value in inputs.passthrough] == ["ImageConfig", "Namespace"]
    assert list(inputs.record) == [
        "rewrite xpkg.example.org/",
        "rewrite xpkg.io/",
        f"root {NET}",
        f"root {STORE}",
        "setting families",
    ]
    assert all(digest.startswith("sha256:") and len(digest) == 71 for digest in inputs.record.values())


def test_a_manifest_in_a_file_named_for_metadata_is_still_a_root(tmp_path: Path) -> None:
    inputs = read(write(tmp_path, crossplane=PROVIDER, upbound=FUNCTION))

    assert len(inputs.roots) == 2


def test_only_yaml_files_of_the_folder_itself_are_read(tmp_path: Path) -> None:
    write(tmp_path, store=PROVIDER)
    (tmp_path / "net.yml").write_text(FUNCTION)
    (tmp_path / "notes.txt").write_text("{")
    (tmp_path / ".pre-commit-config.yaml").write_text("repos: []")
    write(tmp_path / "deeper", broken="{")
    write(tmp_path / "folder.yaml", broken="{")

    assert len(read(tmp_path).roots) == 2


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"z": FUNCTION, "b": PROVIDER}, id="other file names"),
        pytest.param({"a": FUNCTION + "---" + PROVIDER}, id="one file"),
        pytest.param({"a": f"# a remark\n{PROVIDER}# another\n", "b": FUNCTION}, id="remarks"),
        pytest.param({"a": PROVIDER.replace("\n", "\r\n"), "b": FUNCTION}, id="other line ends"),
        pytest.param({"a": "\ufeff" + PROVIDER, "b": FUNCTION}, id="a byte order mark"),
        pytest.param({"a": PROVIDER.replace("{tier: one, team: data}", "{team: 'data', tier: \"one\"}"),
                      "b": FUNCTION}, id="other quotes and order"),
        pytest.param({"a": PROVIDER, "b": FUNCTION, "c": NAMESPACE}, id="a passthrough object"),
        pytest.param({"a": PROVIDER, "b": FUNCTION, "c": PROVIDER}, id="said twice"),
        pytest.param({"a": PROVIDER, "b": FUNCTION, "xplock": "families: follow"}, id="a default value"),
        pytest.param({"a": PROVIDER.replace("one", "&t one"), "b": FUNCTION}, id="an anchor"),
    ],
)  # fmt: skip
def test_the_record_does_not_depend_on_how_things_are_written(other: dict[str, str], tmp_path: Path) -> None:
    first = read(write(tmp_path / "first", a=PROVIDER, b=FUNCTION))

    second = read(write(tmp_path / "second", **other))

    assert second.record == first.record


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("v1.0.0", "v1.0.1", f"root {STORE}"),
        ("name: store", "name: shop", f"root {STORE}"),
        ("tier: one", "tier: two", f"root {STORE}"),
        ("revisionHistoryLimit: 3", "revisionHistoryLimit: 4", f"root {STORE}"),
        ("kind: Function", "kind: Configuration", f"root {NET}"),
        ("prefix: mirror.corp/", "prefix: mirror.lab/", "rewrite xpkg.example.org/"),
        ("to: mirror.corp/", "to: mirror.lab/", "rewrite xpkg.io/"),
        ("crossplaneVersion: v2.3.4", "crossplaneVersion: v2.3.5", "setting crossplaneVersion"),
    ],
)
def test_a_change_changes_exactly_its_own_line_of_the_record(
    old: str, new: str, changed: str, tmp_path: Path
) -> None:
    files = {
        "a": PROVIDER,
        "b": FUNCTION,
        "c": MIRROR,
        "xplock": f"{SETTINGS}crossplaneVersion: v2.3.4\n",
    }
    before = read(write(tmp_path / "before", **files)).record
    after_files = {name: text.replace(old, new) for name, text in files.items()}

    after = read(write(tmp_path / "after", **after_files)).record

    assert before.keys() == after.keys()
    assert [key for key in before if before[key] != after[key]] == [changed]


def test_all_errors_of_all_files_come_at_once_and_sorted(tmp_path: Path) -> None:
    write(
        tmp_path,
        a=PROVIDER.replace(STORE, "acme/x") + "---" + FUNCTION.replace("name: net", "name: Net"),
        b="kind: [",
        c="just text",
        d=PROVIDER,
        e=PROVIDER.replace("v1.0.0", "v2.0.0"),
        xplock="rotos: []",
        crossplane="apiVersion: meta.pkg.crossplane.io/v1\nkind: Widget",
    )

    problems = problems_of(tmp_path)

    assert problems == sorted(problems)
    assert [" ".join(problem.split(": ")[:2]) for problem in problems] == [
        "a.yaml document 1",
        "a.yaml document 2",
        "b.yaml line 2",
        "c.yaml expected a Kubernetes object, found text",
        "crossplane.yaml kind",
        "e.yaml spec.package",
        "xplock.yaml rotos",
    ]


def test_the_same_errors_make_the_same_text(tmp_path: Path) -> None:
    write(tmp_path, a="[]", b="[]")

    with pytest.raises(InvalidInputs) as caught:
        read(tmp_path)

    assert str(caught.value).splitlines() == [
        f"the files in {tmp_path} have 2 problems",
        "  why:  a.yaml: expected a Kubernetes object, found a list",
        "        b.yaml: expected a Kubernetes object, found a list",
        "  next: correct each of them at the place it names",
    ]


def test_of_very_many_errors_the_first_are_shown(tmp_path: Path) -> None:
    write(tmp_path, a="---\n[]\n" * 150)

    with pytest.raises(InvalidInputs) as caught:
        read(tmp_path)

    assert len(caught.value.problems) == 150
    assert caught.value.why[-1] == "… and 50 more"


@pytest.mark.parametrize("files", [{}, {"a": NAMESPACE}, {"xplock": "families: free"}, {"a": "# nothing"}])
def test_a_folder_that_asks_for_nothing_is_shown_how_to_ask(files: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path, **files)

    with pytest.raises(NothingAsked) as caught:
        read(tmp_path)

    assert "kind: Provider" in str(caught.value)


def test_a_folder_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="cannot be read") as caught:
        read(tmp_path / "nowhere")

    assert caught.value.why == ("no such file or directory",)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["deps.yaml", "xplock.yaml", "crossplane.yaml"])
def test_a_link_out_of_the_folder_is_named_and_its_target_is_not_shown(
    name: str, tmp_path: Path, canary: str
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(canary)
    folder = write(tmp_path / "project", store=PROVIDER)
    (folder / name).symlink_to(secret)

    with pytest.raises(InvalidInputs) as caught:
        read(folder)

    assert caught.value.problems == [
        f"{name}: it cannot be read; it is a link to a path outside of its folder"
    ]
    assert canary not in str(caught.value)


def test_a_link_to_the_folder_above_is_not_entered(tmp_path: Path) -> None:
    write(tmp_path, broken="{")
    folder = write(tmp_path / "project", store=PROVIDER)
    (folder / "up").symlink_to("..")

    assert len(read(folder).roots) == 1


def test_a_link_that_stays_inside_is_followed(tmp_path: Path) -> None:
    write(tmp_path / "deeper", store=PROVIDER)
    (tmp_path / "store.yaml").symlink_to("deeper/store.yaml")

    assert read(tmp_path).roots[0].place == "store.yaml: spec.package"


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _nothing_outside(path: Path) -> None:
    path.symlink_to("/dev/there-is-none")


def _folder_link(path: Path) -> None:
    (path.parent / "deeper").mkdir()
    path.symlink_to("deeper")


def _binary(path: Path) -> None:
    path.write_bytes(b"\x00\xff\xfe" * 10)


@pytest.mark.parametrize(
    ("make", "fact"),
    [
        (_fifo, "it is not a plain file"),
        (_loop, "a broken link"),
        (_device, "a link to a path outside of its folder"),
        (_nothing_outside, "a link to a path outside of its folder"),
        (_folder_link, "it is not a plain file"),
        (_binary, "is not UTF-8"),
    ],
)
def test_an_odd_file_is_a_problem_and_holds_nobody_up(
    make: Callable[[Path], None], fact: str, tmp_path: Path
) -> None:
    write(tmp_path, store=PROVIDER)
    make(tmp_path / "odd.yaml")

    (problem,) = problems_of(tmp_path)

    assert problem.startswith("odd.yaml: ")
    assert fact in problem


def test_a_huge_file_is_a_problem_that_names_the_limit(tmp_path: Path) -> None:
    write(tmp_path, store=PROVIDER, huge="#" * (11 * MIB))

    (problem,) = problems_of(tmp_path)

    assert problem.startswith("huge.yaml: the file is too large; the limit is 10 MiB")
    assert "XPLOCK_LIMIT_FILE_BYTES" in problem


def test_too_many_files_are_an_error_that_names_the_limit(tmp_path: Path) -> None:
    write(tmp_path, a=PROVIDER, b=FUNCTION, c=NAMESPACE)

    with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_FILES"):
        read(tmp_path, replace(Limits(), files=2))


JSON_PROVIDER = (
    f'{{"apiVersion": "pkg.crossplane.io/v1", "kind": "Provider",\n\t"metadata": {{"name": "store"}},'
    f'\n\t"spec": {{"package": "{STORE}:v1.0.0"}}}}\n'
)


def test_manifests_in_json_are_inputs(tmp_path: Path) -> None:
    (tmp_path / "store.json").write_text(JSON_PROVIDER)

    (found,) = read(tmp_path).roots

    assert (found.name, found.place) == ("store", "store.json: spec.package")


@pytest.mark.parametrize(
    "text", ['{"name": "site", "version": "1"}', "[1, 2]", "// no JSON {", "", '{"kind": "Provider"}']
)
def test_json_files_of_other_tools_are_left_alone(text: str, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(text)
    (tmp_path / ".hidden.json").write_text(JSON_PROVIDER)
    (tmp_path / "large.json").write_text(JSON_PROVIDER + " " * 3_000)

    found = read(write(tmp_path, net=FUNCTION), Limits(file_bytes=2_000))

    assert [root.name for root in found.roots] == ["net"]
    assert found.passthrough == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (JSON_PROVIDER[:-3], "store.json: line 4: "),
        (
            JSON_PROVIDER.replace('"metadata"', '"kind"'),
            "store.json: line 2: the key 'kind' stands here a second time",
        ),
    ],
)
def test_a_manifest_in_json_that_cannot_be_read_is_a_problem(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "store.json").write_text(text)

    with pytest.raises(InvalidInputs) as caught:
        read(tmp_path)

    assert caught.value.problems[0].startswith(problem)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('"kind"', '"Kind"', "Kind"),
        ('"apiVersion"', '"apiversion"', "apiversion"),
        ('"kind"', '"\u212aind"', "Kind"),
    ],
)
def test_a_manifest_in_json_whose_keys_go_would_fold_is_refused(
    old: str, new: str, key: str, tmp_path: Path
) -> None:
    (tmp_path / "store.json").write_text(JSON_PROVIDER.replace(old, new, 1))

    with pytest.raises(InvalidInputs) as caught:
        read(tmp_path)

    assert any(f"the key {key.replace('K', new[1])!r} has to be spelled" in line for line in caught.value.why)


def test_a_manifest_in_json_with_escaped_keys_is_an_input(tmp_path: Path) -> None:
    (tmp_path / "store.json").write_text(JSON_PROVIDER.replace('"kind"', '"\\u006bind"', 1))

    assert [root.name for root in read(tmp_path).roots] == ["store"]


def test_json_that_is_no_yaml_is_read(tmp_path: Path) -> None:
    (tmp_path / "store.json").write_text(JSON_PROVIDER)
    text = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"b": "\\ud83d\\ude00\x7f"}}'
    (tmp_path / "map.json").write_text(text)

    [found] = read(tmp_path).passthrough

    assert found["data"] == {"b": "\U0001f600\x7f"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"apiVersion": "v1", "kind": "ConfigMap",}', "line 1: this is not JSON"),
        ("apiVersion: 'v1'\nx: ['\"apiVersion\"', '\"kind\"']", "line 1: this is not JSON"),
        ('{"apiVersion": "v1", "kind": "\\ud83d"}', "half of a pair"),
        ('{"apiVersion": "v1", "kind": "A", "a": NaN}', "JSON has no NaN"),
        (f'{{"apiVersion": "v1", "kind": "A", "a": {"[" * 200}{"]" * 200}}}', "nested deeper than 100"),
        (f'{{"apiVersion": "v1", "kind": "A", "a": {"[" * 9_000}{"]" * 9_000}}}', "nested deeper than 100"),
    ],
)
def test_json_that_argo_cd_or_we_cannot_read_is_a_problem(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "store.json").write_text(text)

    with pytest.raises(InvalidInputs) as caught:
        read(tmp_path)

    assert problem in caught.value.why[0] and "YAML" not in caught.value.why[0]


def test_json_with_too_many_values_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store.json").write_text(JSON_PROVIDER.rstrip()[:-1] + f', "a": [{"0," * 999_999}0]}}')

    with pytest.raises(InvalidInputs) as caught:
        read(tmp_path)

    assert "XPLOCK_LIMIT_FILE_NODES" in str(caught.value.why)


def test_a_link_in_json_that_leaves_the_folder_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "store.json").write_text(JSON_PROVIDER)
    folder = write(tmp_path / "project", net=FUNCTION)
    (folder / "store.json").symlink_to("../store.json")

    with pytest.raises(InvalidInputs, match="a link to a path outside of its folder"):
        read(folder)


@pytest.mark.parametrize("name", ["store", "xplock", "crossplane"])
def test_conflict_markers_have_a_sentence_of_their_own(name: str, tmp_path: Path) -> None:
    text = "a: b\n<<<<<<< HEAD\nc: d\n=======\nc: e\n>>>>>>> other\n"

    with pytest.raises(InvalidInputs) as caught:
        read(write(tmp_path, net=FUNCTION, **{name: text}))

    assert caught.value.problems == [
        f"{name}.yaml: line 2: a conflict marker of Git; choose a side in this file, and remove the markers"
    ]


@pytest.mark.parametrize("name", ["xplock.yml", ".xplock.yaml", ".xplock.yml", "xplock.json"])
def test_settings_in_a_file_of_another_name_are_a_problem(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("{families: free}")

    with pytest.raises(InvalidInputs) as caught:
        read(write(tmp_path, net=FUNCTION))

    assert caught.value.problems == [f"{name}: settings are read from xplock.yaml only; rename the file"]
