"""A folder becomes a package: every rule is checked, and the same folder gives the same bytes."""

import gzip
import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from rig.builders.packages import (
    COMPOSITION,
    CONFIGURATION,
    CRD,
    FUNCTION,
    PROVIDER,
    XRD,
    an_object,
    build,
    write_files,
)

from render.limits import LimitExceeded, Limits
from render.packages import Kind, PackagedObject
from render.xpkg.building.build import InvalidPackageFolder, build_package

FILES = {
    "crossplane.yaml": CONFIGURATION,
    "apis/definition.yaml": XRD,
    "apis/composition.yml": COMPOSITION,
    "examples/nop.yaml": "kind: XNop\n",
}
DIGEST_OF_CHILD = """\
import sys
from pathlib import Path
from render.limits import Limits
from render.xpkg.building.build import build_package
print(build_package(Path(sys.argv[1]), Limits()).image.digest)
"""


def unpacked(layer: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(layer))) as archive:
        return {entry.name: archive.extractfile(entry).read() for entry in archive}  # type: ignore[union-attr]


def package_yaml(folder: Path, files: dict[str, str | bytes]) -> str:
    return unpacked(build(folder, files).image.layers[0])["package.yaml"].decode()


def problems(folder: Path, files: dict[str, str | bytes]) -> list[str]:
    with pytest.raises(InvalidPackageFolder) as caught:
        build(folder, files)
    assert caught.value.exit_code == 2
    return list(caught.value.problems)


def test_the_same_files_give_the_same_digest_whenever_and_however_they_were_written(tmp_path: Path) -> None:
    first = build(tmp_path / "first", FILES).image
    again = build(tmp_path / "first", {}).image
    before = os.umask(0o077)
    try:
        other = write_files(tmp_path / "other", dict(reversed(FILES.items())))
    finally:
        os.umask(before)
    for path in other.rglob("*"):
        os.utime(path, (1, 1))

    rewritten = build(other, {}).image

    assert first.digest == again.digest == rewritten.digest
    assert (first.data, first.config, first.layers) == (rewritten.data, rewritten.config, rewritten.layers)


@pytest.mark.parametrize(
    "environ",
    [
        {"PYTHONHASHSEED": "1"},
        {"PYTHONHASHSEED": "2", "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"TZ": "Asia/Tokyo", "LC_ALL": "tr_TR.UTF-8"},
    ],
)
def test_another_process_in_another_locale_builds_the_same_digest(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    here = build(tmp_path, {**FILES, "apis/ä.yaml": COMPOSITION.replace("nop", "ünop")})

    done = subprocess.run(
        [sys.executable, "-c", DIGEST_OF_CHILD, str(tmp_path)],
        env={"PATH": os.defpath, **environ},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == here.image.digest


def test_the_digest_of_a_known_folder_never_changes(tmp_path: Path) -> None:
    image = build(tmp_path, FILES).image

    assert image.digest == "sha256:2c9368d6dac1580a93aa639131cabf61e251f70e1052db5ff8a7ded2eb95e72b"


def test_a_package_is_its_metadata_and_then_its_objects_in_the_order_of_their_files(tmp_path: Path) -> None:
    built = build(tmp_path, {**FILES, "a.yaml": f"---\n{COMPOSITION.replace('nop', 'first')}---\n"})

    first = COMPOSITION.replace("nop", "first")
    layer = unpacked(built.image.layers[0])
    assert layer == {"package.yaml": f"---\n{CONFIGURATION}---\n{first}---\n{COMPOSITION}---\n{XRD}".encode()}
    assert built.metadata.kind is Kind.CONFIGURATION
    assert [item.name for item in built.objects] == ["first", "nop", "xnops.example.org"]
    assert built.objects[0] == PackagedObject("apiextensions.crossplane.io/v1", "Composition", "first")


def test_the_metadata_comes_first_even_where_another_file_sorts_before_it(tmp_path: Path) -> None:
    text = package_yaml(tmp_path, {"apis.yaml": XRD, "crossplane.yaml": CONFIGURATION})

    assert text == f"---\n{CONFIGURATION}---\n{XRD}"


def test_files_in_a_layer_tell_nothing_of_owners_and_times(tmp_path: Path) -> None:
    image = build(tmp_path, FILES).image

    for layer in image.layers:
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(layer))) as archive:
            [entry] = archive.getmembers()
        assert (entry.mode, entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname) == (
            0o644,
            0,
            0,
            0,
            "",
            "",
        )


def test_examples_are_a_layer_of_their_own_and_not_part_of_the_package(tmp_path: Path) -> None:
    files = {**FILES, "examples/deep/other.yaml": "kind: Other", "examples/read.me": "no"}

    image = build(tmp_path, files).image

    assert [dict(layer.annotations) for layer in image.manifest.layers] == [
        {"io.crossplane.xpkg": "base"},
        {"io.crossplane.xpkg": "upbound"},
    ]
    assert unpacked(image.layers[1]) == {".up/examples.yaml": b"kind: Other\n---\nkind: XNop\n"}
    assert b"XNop" not in gzip.decompress(image.layers[0])


def test_a_package_without_examples_has_one_layer(tmp_path: Path) -> None:
    image = build(tmp_path, {"crossplane.yaml": PROVIDER}).image

    assert len(image.layers) == 1


@pytest.mark.parametrize("examples", ["samples", "./samples", "samples/", "docs/samples"])
def test_the_folder_of_examples_may_have_another_name(tmp_path: Path, examples: str) -> None:
    write_files(tmp_path, {"crossplane.yaml": PROVIDER, f"{examples}/a.yaml": "kind: Nop"})

    image = build_package(tmp_path, Limits(), examples=examples).image

    assert unpacked(image.layers[1]) == {".up/examples.yaml": b"kind: Nop\n"}


@pytest.mark.parametrize(
    "pattern", ["test/broken.yaml", "test/*.yaml", "test/*", "test", "test/", "*broken*", "*/b?oken.yaml"]
)
def test_ignored_files_are_not_read(tmp_path: Path, pattern: str) -> None:
    write_files(tmp_path, {"crossplane.yaml": PROVIDER, "test/broken.yaml": "{"})

    assert not build_package(tmp_path, Limits(), ignore=[pattern]).objects


def test_ignored_examples_are_named_from_the_package_folder_too(tmp_path: Path) -> None:
    write_files(tmp_path, {"crossplane.yaml": PROVIDER, "examples/a.yaml": "a", "examples/b.yaml": "b"})

    image = build_package(tmp_path, Limits(), ignore=["examples/a.yaml"]).image

    assert unpacked(image.layers[1]) == {".up/examples.yaml": b"b\n"}


@pytest.mark.parametrize("name", [".github/workflows/ci.yaml", ".hidden.yaml", "apis/.cache/x.yml"])
def test_hidden_files_and_folders_are_left_out(tmp_path: Path, name: str) -> None:
    built = build(tmp_path, {"crossplane.yaml": PROVIDER, name: "{ not yaml"})

    assert not built.objects


def test_files_that_are_not_yaml_and_empty_documents_are_left_out(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "crossplane.yaml": PROVIDER,
        "README.md": "{",
        "empty.yaml": "",
        "comments.yaml": "# nothing\n---\n\n---\n# more\n...\n",
    }

    assert package_yaml(tmp_path, files) == f"---\n{PROVIDER}"


def test_line_breaks_of_windows_and_a_byte_order_mark_do_not_get_into_a_package(tmp_path: Path) -> None:
    unix = build(
        tmp_path / "unix", {"crossplane.yaml": CONFIGURATION, "apis.yaml": f"{XRD}---\n{COMPOSITION}"}
    )
    windows = build(
        tmp_path / "windows",
        {
            "crossplane.yaml": b"\xef\xbb\xbf" + CONFIGURATION.replace("\n", "\r\n").encode(),
            "apis.yaml": f"{XRD}---\n{COMPOSITION}".replace("\n", "\r\n"),
        },
    )

    assert windows.image.digest == unix.image.digest


def test_a_text_that_ends_in_line_breaks_keeps_them(tmp_path: Path) -> None:
    kept = f"{XRD}text: |+\n  two breaks follow\n\n"

    text = package_yaml(tmp_path, {"crossplane.yaml": CONFIGURATION, "a.yaml": f"{kept}---\n{COMPOSITION}"})

    assert text == f"---\n{CONFIGURATION}---\n{kept}---\n{COMPOSITION}"


def test_a_linked_file_is_refused_by_name(tmp_path: Path) -> None:
    elsewhere = write_files(tmp_path / "elsewhere", {"secret.yaml": XRD})
    folder = write_files(tmp_path / "folder", {"crossplane.yaml": CONFIGURATION})
    (folder / "linked.yaml").symlink_to(elsewhere / "secret.yaml")

    [problem] = problems(folder, {})

    assert problem.startswith("linked.yaml: ")
    assert "symbolic link" in problem


def test_a_linked_folder_is_not_followed(tmp_path: Path) -> None:
    elsewhere = write_files(tmp_path / "elsewhere", {"secret.yaml": XRD})
    folder = write_files(tmp_path / "folder", {"crossplane.yaml": CONFIGURATION})
    (folder / "linked").symlink_to(elsewhere)

    assert not build(folder, {}).objects


def test_a_pipe_in_a_files_place_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(write_files(tmp_path, {"crossplane.yaml": CONFIGURATION}) / "pipe.yaml")

    [problem] = problems(tmp_path, {})

    assert problem.startswith("pipe.yaml: ")
    assert "not a plain file" in problem


META_RULE = "crossplane.yaml has to contain one Provider, Configuration or Function of meta.pkg.crossplane.io"


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"apis.yaml": XRD}, "none of its files"),
        ({}, "none of its files"),
        ({"meta.yaml": CONFIGURATION}, "meta.yaml"),
        ({"crossplane.yml": CONFIGURATION}, "crossplane.yml"),
        ({"sub/crossplane.yaml": CONFIGURATION}, "sub/crossplane.yaml"),
        ({"crossplane.yaml": f"{CONFIGURATION}---\n{CONFIGURATION}"}, "crossplane.yaml, crossplane.yaml"),
        ({"crossplane.yaml": f"{CONFIGURATION}---\n{PROVIDER}"}, "crossplane.yaml, crossplane.yaml"),
        ({"crossplane.yaml": CONFIGURATION, "sub/meta.yaml": PROVIDER}, "crossplane.yaml, sub/meta.yaml"),
    ],
)
def test_exactly_one_meta_document_has_to_be_where_it_belongs(
    tmp_path: Path, files: dict[str, str | bytes], found: str
) -> None:
    [problem] = problems(tmp_path, files)

    assert problem.startswith(META_RULE)
    assert problem.endswith(f"found in {found}")


def test_one_meta_document_may_share_its_file_with_objects(tmp_path: Path) -> None:
    built = build(tmp_path, {"crossplane.yaml": f"{XRD}---\n{CONFIGURATION}---\n{COMPOSITION}"})

    assert [item.kind for item in built.objects] == ["CompositeResourceDefinition", "Composition"]


WEBHOOKS = "admissionregistration.k8s.io/v1"
XP, OPS = "apiextensions.crossplane.io", "ops.crossplane.io/v1alpha1"
ALLOWED = [
    (PROVIDER, "apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    (PROVIDER, "apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"),
    (PROVIDER, f"{XP}/v1alpha1", "ManagedResourceDefinition"),
    (PROVIDER, WEBHOOKS, "ValidatingWebhookConfiguration"),
    (PROVIDER, WEBHOOKS, "MutatingWebhookConfiguration"),
    (CONFIGURATION, f"{XP}/v1", "CompositeResourceDefinition"),
    (CONFIGURATION, f"{XP}/v2", "CompositeResourceDefinition"),
    (CONFIGURATION, f"{XP}/v1", "Composition"),
    (CONFIGURATION, f"{XP}/v1alpha1", "ManagedResourceActivationPolicy"),
    (CONFIGURATION, OPS, "Operation"),
    (CONFIGURATION, OPS, "CronOperation"),
    (CONFIGURATION, OPS, "WatchOperation"),
    (FUNCTION, "apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    (FUNCTION, "apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"),
]
EVERYTHING = [
    *sorted({(version, kind) for _, version, kind in ALLOWED}),
    (f"{XP}/v1", "CompositionRevision"),
    (f"{XP}/v1alpha1", "Usage"),
    (f"{XP}/v1beta1", "EnvironmentConfig"),
    (f"{XP}/v2", "Composition"),
    ("pkg.crossplane.io/v1", "Provider"),
    ("v1", "ConfigMap"),
    ("v1", "List"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("apps/v1", "Deployment"),
    (f"{WEBHOOKS}beta1", "ValidatingWebhookConfiguration"),
    (WEBHOOKS, "ValidatingAdmissionPolicy"),
]
FORBIDDEN = [
    (meta, version, kind)
    for meta in (PROVIDER, CONFIGURATION, FUNCTION)
    for version, kind in EVERYTHING
    if (meta, version, kind) not in ALLOWED
]


@pytest.mark.parametrize(("meta", "api_version", "kind"), ALLOWED)
def test_a_package_may_hold_the_objects_of_its_kind(
    tmp_path: Path, meta: str, api_version: str, kind: str
) -> None:
    built = build(tmp_path, {"crossplane.yaml": meta, "a.yaml": an_object(api_version, kind, "it")})

    assert built.objects == (PackagedObject(api_version, kind, "it"),)


@pytest.mark.parametrize(("meta", "api_version", "kind"), FORBIDDEN)
def test_a_package_may_hold_no_other_objects(tmp_path: Path, meta: str, api_version: str, kind: str) -> None:
    files: dict[str, str | bytes] = {"crossplane.yaml": meta, "a.yaml": an_object(api_version, kind, "it")}

    [problem] = problems(tmp_path, files)

    package = meta.partition("kind: ")[2].partition("\n")[0]
    assert problem.startswith(f"a.yaml: line 1: a {package} may not hold a {kind} ({api_version}), only ")


NAMELESS = "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{XRD}---\n{XRD}", "a.yaml: line 7: CompositeResourceDefinition xnops.example.org is already defined at "
         "a.yaml: line 1"),
        (f"{XRD}---\n{XRD.replace('/v1', '/v2')}", "is already defined at a.yaml: line 1"),
        ("a: [1,\n", "a.yaml: line 2: "),
        (f"{XRD}more: [1,\n", "a.yaml: line 7: "),
        (f"{XRD}  wrong: indent\n", "a.yaml: line 6: "),
        (f"# one\n---\n{XRD}\tx: y\n", "a.yaml: line 8: "),
        (NAMELESS, "a.yaml: line 1: this Composition has no metadata.name"),
        (f"{NAMELESS}metadata:\n  generateName: x\n", "this Composition has no metadata.name"),
        (f"{NAMELESS}metadata:\n  name: ''\n", "this Composition has no metadata.name"),
        ("kind: Composition\nmetadata:\n  name: x\n", "apiVersion, kind and metadata.name are not all text"),
        ("apiVersion: v1\nmetadata:\n  name: x\n", "apiVersion, kind and metadata.name are not all text"),
        ("- a\n- b\n", "a.yaml: line 1: expected an object, found a list"),
        ("just text\n", "a.yaml: line 1: expected an object, found text"),
        (f"{XRD}--- what follows\n", "has text behind ---"),
        (f"{XRD}...\n{COMPOSITION}", "a.yaml: line 7: "),
        ("%YAML 1.1\n---\n" + XRD, "a.yaml: line 2: "),
        (f"{XRD}x: &a\n  y: *b\n", "a.yaml: line 7: alias *b has no value yet"),
    ],
)  # fmt: skip
def test_an_object_that_crossplane_could_not_install_is_named_with_its_line(
    tmp_path: Path, text: str, problem: str
) -> None:
    [found] = problems(tmp_path, {"crossplane.yaml": CONFIGURATION, "a.yaml": text})

    assert found.startswith("a.yaml: ")
    assert problem in found


def test_bytes_that_are_not_utf_8_are_named_with_their_line(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"crossplane.yaml": PROVIDER, "a.yaml": CRD.encode() + b"# \xff\n"}

    assert problems(tmp_path, files) == ["a.yaml: line 6: byte 0xff is not UTF-8"]


@pytest.mark.parametrize(
    ("meta", "problem"),
    [
        (PROVIDER.replace("/v1", "/v1beta1"), "knows no package kind 'Provider' in meta.pkg.crossplane.io/v1beta1"),
        (FUNCTION.replace("/v1beta1", "/v1alpha1"), "knows no package kind 'Function'"),
        (PROVIDER.replace("Provider", "Stack"), "knows no package kind 'Stack'"),
        (PROVIDER.replace("  name: provider-nop\n", "  labels: {}\n"), "metadata.name: a package needs a name"),
        (CONFIGURATION.replace(">=v1.14.0", "new enough"), "spec.crossplane.version: "),
        (CONFIGURATION.replace(">=v0.2.0", "some"), "spec.dependsOn[0].version: "),
        (CONFIGURATION.replace('">=v0.2.0"', "0.2"), "spec.dependsOn[0].version: expected text, found 0.2"),
        (CONFIGURATION.replace("- provider:", "- stack:"), "spec.dependsOn[0]: it names no package"),
        (CONFIGURATION.replace("acme/", "Acme/"), "spec.dependsOn[0].provider: "),
        (PROVIDER + "spec: [1]\n", "spec: expected a mapping, found a list"),
        (PROVIDER + "spec: {}\nspec: {}\n", "crossplane.yaml: line 6: the key 'spec' stands here a second time"),
        (PROVIDER + "x: &a 1\n", "crossplane.yaml: line 5: anchors are not allowed here"),
    ],
)  # fmt: skip
def test_metadata_that_crossplane_could_not_follow_is_named_with_its_field(
    tmp_path: Path, meta: str, problem: str
) -> None:
    [found] = problems(tmp_path, {"crossplane.yaml": meta})

    assert found.startswith("crossplane.yaml: ")
    assert problem in found


def test_the_line_of_a_problem_in_metadata_counts_what_stands_before_it(tmp_path: Path) -> None:
    meta = f"# who\n# and why\n---\n{PROVIDER}x: &a 1\n"

    assert problems(tmp_path, {"crossplane.yaml": meta}) == [
        "crossplane.yaml: line 8: anchors are not allowed here"
    ]


def test_all_problems_of_a_folder_come_in_one_error(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "crossplane.yaml": CONFIGURATION,
        "a.yaml": "{",
        "b.yaml": CRD,
        "c.yaml": NAMELESS,
    }

    found = problems(tmp_path, files)

    assert sorted(problem.partition(":")[0] for problem in found) == ["a.yaml", "b.yaml", "c.yaml"]


def test_too_many_or_too_large_files_are_refused_with_the_limit(tmp_path: Path) -> None:
    write_files(tmp_path, FILES)

    with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_FILES"):
        build_package(tmp_path, Limits(files=2))
    with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_PACKAGE_BYTES"):
        build_package(tmp_path, Limits(package_bytes=len(CONFIGURATION) + 100))
