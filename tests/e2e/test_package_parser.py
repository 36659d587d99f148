"""Whatever Crossplane's own parser reads from a package, we read the same, or we refuse the package."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rig.builders.images import CRD, END, META, REFERENCE, Shelf, entry, gzipped
from rig.builds.package_parser import PackageParser, ParsedPackage, running_package_parser

from render.errors import RenderError
from render.limits import Limits
from render.xpkg.allowed_objects import KNOWN
from render.xpkg.contents import parse_meta, read_contents
from render.xpkg.inspect import inspect_image

LIMITS = Limits()
_GZIP_TRAILER = 8
PROVIDER = """\
apiVersion: meta.pkg.crossplane.io/v1
kind: Provider
metadata:
  name: p
  labels:
    a: b
spec:
  crossplane:
    version: ">=v1.14.0"
  dependsOn:
  - provider: h.example/a/b
    version: ">=v1.0.0"
  - apiVersion: pkg.crossplane.io/v1
    kind: Function
    package: h.example/a/f
    version: v1.0.0
"""
COMPOSITION = """\
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata:
  name: c
spec:
  mode: Pipeline
"""
# One text is put in the place of another, anywhere in the package.
_EXCHANGES = [
    ("kind", ["Kind", "KIND", "\u212aind", "kin\u0064", '"kind"', "'kind'", "? kind\n", "!!str kind", "kind "]),
    ("kind:", ["kind: X\nkind:", "Kind: X\nkind:", "kind: X\nKind:", "!!binary a2luZA==:", "&k kind:"]),
    ("apiVersion", ["apiversion", "APIVersion", "apiVer\u017fion", "ApiVersion", '"api\\x56ersion"']),
    ("metadata", ["Metadata", "METADATA", '"metadata"', "metaData"]),
    ("metadata:", ["metadata: &m", "metadata: !!map", "metadata: {name: x}\nmetadata:", "metadata: !x"]),
    ("name", ["Name", "NAME", '"name"', "name: x\n  name", "generateName"]),
    ("spec", ["Spec", "\u017fpec", "spec: {}\nspec"]),
    ("dependsOn", ["DependsOn", "depend\u017fOn", "dependson", '"dependsOn"']),
    ("provider", ["Provider", "configuration", "function", "PROVIDER", "package", "provider: ''\n    function"]),
    ("package", ["Package", "pac\u212aage", "provider", "package: x\n    Package"]),
    ("version", ["Version", "ver\u017fion", "version: v9\n    Version", "VERSION"]),
    ("kind: Function", ["kind: ''", "kind: null", "provider: h.example/x/y", "kind: F\n    provider: h.example/x/y"]),
    ("crossplane:", ["Crossplane:", "cro\u017fsplane:", "crossplane: {}\n  Crossplane:"]),
    ("Composition", ["!!binary Q29tcG9zaXRpb24=", "CompositionRevision", "CompositionList", "composition", "Usage"]),
    ("Provider", ["Configuration", "Function", "provider", "ProviderList", "!!str Provider", '"Provider"', "5"]),
    ("Provider\n", ["Provider \n", "Provider # c\n", "Provider\n  x\n", "|-\n  Provider\n", ">\n  Provider\n"]),
    ("/v1\n", ["/v1alpha1\n", "/v1beta1\n", "/v2\n", "\n", "/v1/v1\n", "/V1\n"]),
    ("apiextensions.crossplane.io/v1", ["v1", "apps/v1", "apiextensions.k8s.io/v1", "meta.pkg.crossplane.io/v1"]),
    ("name: c", ["name: 5", "name: ~", "name: <<", "name: 2020-01-01", "name: c\u200bd", "name: c\u00e9", "name: .5"]),
    ("name: c", ["name: *m", "name: &n c", "<<: {name: d}", "name: c\n  <<: {name: d}", "<<: {Name: d}"]),
    ("name: c", ['name: "\\x63"', "name: 'c'", "name: !!str 5", "name: ! 5", "name: [c]", "name:\n    c", "name: 0x1"]),
    ("h.example/a/b", ["''", "~", "5", "&d h.example/a/b", "H.example/a/b", "h.example/a/b:v1", "!!binary aC5l"]),
    ('">=v1.0.0"', ["1.0", "v1", "''", "~", '">=v1.0.0 <2"', "V1.0.0", ">=V1.0.0", "0x10", "'*'", "1_0", "yes"]),
    ("spec:", ["<<: {spec: {}}\nspec:", "spec: {}\n<<:", "? spec\n:", "spec: &s\n  x: 1\n  <<:"]),
    ("  mode: Pipeline", ["  x: " + "[" * 60 + "]" * 60, "  x: " + "[" * 600 + "]" * 600, "  x: &x [*x]", "\tx: y"]),
    ("\n", ["\r\n", "\r", "\n\n", "\n#\n", "\n...\n", "\n---\n", "\n--- #x\n", "\n---x\n", "\u2028", "\x85", "\n "]),
    ("---\n", ["---\n---\n", "--- \n", "...\n---\n", "---\n%YAML 1.1\n---\n", "---\n...\n", "---\n\ufeff", "---\n{}\n---\n"]),
    ("a: b", ["a: 5", "a: |\n      kind: X", 'a: "\nkind: X\n    "', "a: 'b'", "a: b\n    Name: x", "a: {b: c}"]),
    (":", [": ", ":\t", ":\n  ", " :"]),
]  # fmt: skip
_SPLINTERS = ["\n", " ", ":", "-", "---", "#", "'", '"', "{", "}", "[", "]", "&a", "*a", "!!str", "!", "|", ">", "?",
              "<<: ", "\t", "\ufeff", "\x00", "\x7f", "\x85", "\u2028", "%", "@", ",", "\\", "kind: X\n", "K", "\u212a"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a text; numbers choose among what there is."""

    kind: int
    first: int
    second: int

    def apply(self, text: str) -> str:
        if self.kind == 0:
            old, choices = _EXCHANGES[self.first % len(_EXCHANGES)]
            places = text.count(old)
            if not places:
                return text
            parts = text.split(old)
            at = 1 + (self.second // len(choices)) % places
            new = choices[self.second % len(choices)]
            return old.join(parts[:at]) + new + old.join(parts[at:])
        at = self.first % (len(text) + 1)
        if self.kind == 1:
            return text[:at] + _SPLINTERS[self.second % len(_SPLINTERS)] + text[at:]
        return text[:at] + text[at + 1 + self.second % 12 :]


EDITS = st.builds(Edit, st.sampled_from([0, 0, 0, 0, 1, 2]), st.integers(0, 9_999), st.integers(0, 9_999))
BASES = st.sampled_from([
    PROVIDER + "---\n" + COMPOSITION,
    "---\n" + COMPOSITION + "---\n" + PROVIDER,
    CRD.decode() + "---\n" + META.decode() + "spec:\n  dependsOn:\n  - function: h.example/a/f\n    version: '*'\n",
    '{"apiVersion": "meta.pkg.crossplane.io/v1", "kind": "Function", "metadata": {"name": "f"}}\n---\n' + COMPOSITION,
])  # fmt: skip


@pytest.fixture(scope="module")
def parser() -> Iterator[PackageParser]:
    with running_package_parser() as running:
        yield running


def read(package_yaml: bytes) -> ParsedPackage | None:
    """Read a package.yaml as we do; None if we refuse it."""
    try:
        contents = read_contents([package_yaml], LIMITS)
        metadata = parse_meta(contents.meta.text().encode(), contents.meta.line, LIMITS)
    except RenderError:
        return None
    return ParsedPackage(
        kind=metadata.kind,
        name=metadata.name,
        crossplane=metadata.crossplane.text if metadata.crossplane else "",
        dependencies=tuple((one.package, one.constraint.text) for one in metadata.dependencies),
        objects=tuple((one.api_version, one.kind, one.name) for one in contents.objects),
    )


def assert_same_or_refused(parser: PackageParser, package_yaml: bytes) -> None:
    theirs, ours = parser.parse(package_yaml), read(package_yaml)
    if ours is None or theirs.error:
        return
    assert ours == ParsedPackage(
        "", "", theirs.kind, theirs.name, theirs.crossplane, theirs.dependencies, theirs.objects
    )


@settings(
    max_examples=2_500,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(BASES, st.lists(EDITS, max_size=5))
def test_a_changed_package_is_read_as_crossplane_reads_it_or_refused(
    parser: PackageParser, base: str, edits: list[Edit]
) -> None:
    text = base
    for edit in edits:
        text = edit.apply(text)

    assert_same_or_refused(parser, text.encode())


@pytest.mark.parametrize("exchange", range(len(_EXCHANGES)))
@pytest.mark.parametrize("base", [0, 1])
def test_every_exchange_alone_is_read_alike_or_refused(
    parser: PackageParser, exchange: int, base: int
) -> None:
    text = [PROVIDER + "---\n" + COMPOSITION, COMPOSITION + "---\n" + PROVIDER][base]
    old, choices = _EXCHANGES[exchange]
    assert old in text
    for number in range(len(choices) * text.count(old)):
        assert_same_or_refused(parser, Edit(0, exchange, number).apply(text).encode())


def test_a_plain_package_is_read_alike_and_not_refused(parser: PackageParser) -> None:
    for text in (PROVIDER + "---\n" + COMPOSITION, META.decode() + "---\n" + CRD.decode()):
        assert_same_or_refused(parser, text.encode())
        assert read(text.encode()) is not None
        assert parser.parse(text.encode()).error == ""


# ---- What a package may hold, and how it may be packed ---------------------------------------------------------------


def test_our_table_of_kinds_is_that_of_crossplane(parser: PackageParser) -> None:
    beside = parser.kinds() - KNOWN

    assert parser.kinds() >= KNOWN
    # Lists, and the kinds that requests to an API server are made of.
    for api_version, kind in beside:
        is_internal = api_version == "v1" or api_version.endswith("/__internal")
        assert is_internal or kind.endswith(("List", "Options", "Review", "WatchEvent")), (api_version, kind)


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("v1", "ConfigMap"),
        ("v1", "Secret"),
        ("apps/v1", "Deployment"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        ("pkg.crossplane.io/v1", "Provider"),
        ("apiextensions.crossplane.io/v1beta1", "EnvironmentConfig"),
        ("apiextensions.crossplane.io/v1alpha1", "CompositeResourceDefinition"),
    ],
)
def test_a_package_with_another_object_is_refused_by_both(
    parser: PackageParser, api_version: str, kind: str
) -> None:
    other = f"---\napiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: x\n"
    package_yaml = (PROVIDER + other).encode()

    assert f'no kind "{kind}" is registered' in parser.parse(package_yaml).error
    assert read(package_yaml) is None


def test_an_object_that_this_kind_of_package_may_not_hold_is_read_by_both(parser: PackageParser) -> None:
    package_yaml = (PROVIDER + "---\n" + COMPOSITION).encode()

    found = parser.parse(package_yaml)

    assert (found.error, "object is not a CRD" in found.lint) == ("", True)
    assert read(package_yaml) is not None


@pytest.mark.parametrize("annotated", [True, False])
@pytest.mark.parametrize("cut", [0, 1, 4, 8, 40, 600])
@pytest.mark.parametrize("end", [END, b""])
def test_a_gzip_stream_that_is_cut_is_read_alike_or_refused(
    parser: PackageParser, tmp_path: Path, end: bytes, cut: int, annotated: bool
) -> None:
    whole = gzipped(entry("package.yaml", META), end)
    shelf = Shelf()
    image = shelf.add_image(whole[: len(whole) - cut], marked=[0] if annotated else [])

    theirs = parser.extract(shelf.write(tmp_path / "layout"), image.digest)
    ours = _inspected_name(shelf)

    assert ours in ("", theirs.name)
    if end and cut <= _GZIP_TRAILER:
        assert ours == theirs.name == "platform"


def test_a_gzip_stream_with_a_wrong_checksum_is_read_alike(parser: PackageParser, tmp_path: Path) -> None:
    whole = gzipped(entry("package.yaml", META), END)
    shelf = Shelf()
    image = shelf.add_image(whole[:-_GZIP_TRAILER] + bytes(_GZIP_TRAILER), marked=[0])

    theirs = parser.extract(shelf.write(tmp_path / "layout"), image.digest)

    assert theirs.name == "platform"
    assert _inspected_name(shelf) in ("", "platform")


def _inspected_name(shelf: Shelf) -> str:
    try:
        return inspect_image("it", shelf, REFERENCE, LIMITS).metadata.name
    except RenderError:
        return ""
