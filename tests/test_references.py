"""References are read by one strict grammar, and compared as Crossplane compares them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from render.errors import InvalidInput
from render.references import (
    Digest,
    InvalidReference,
    PartialSource,
    Reference,
    Source,
    is_admitted,
    is_digest,
    is_tag,
    parse_dependency_source,
    parse_digest,
    parse_reference,
    parse_source,
)

HEX = "ecc25c121431dfc7058754427f97c034ecde26d4aafa0da16d258090e0443904"
DIGEST = Digest(f"sha256:{HEX}")
NOP = "xpkg.crossplane.io/crossplane-contrib/provider-nop"

components = st.from_regex(r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*", fullmatch=True).filter(lambda c: len(c) < 40)
repositories = st.lists(components, min_size=1, max_size=5).map("/".join)
labels = st.from_regex(r"[a-z]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)
names = st.lists(labels, min_size=2, max_size=4).map(".".join)
addresses = st.ip_addresses().map(lambda ip: f"[{ip}]" if ip.version == 6 else str(ip))
ports = st.integers(1, 65535).map(lambda port: f":{port}")
hosts = st.tuples(names | addresses | st.just("localhost"), st.just("") | ports).map("".join)
plain_hosts = st.tuples(labels, ports).map("".join)
sources = st.builds(lambda host, path: f"{host}/{path}", hosts | plain_hosts, repositories)
tags = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", fullmatch=True)
digests = st.from_regex(r"sha256:[0-9a-f]{64}", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "registry", "repository", "identifier"),
    [
        (f"{NOP}:v0.4.0", "xpkg.crossplane.io", "crossplane-contrib/provider-nop", "v0.4.0"),
        ("localhost:5000/org/pkg:v1.0.0", "localhost:5000", "org/pkg", "v1.0.0"),
        ("registry.local:5000/org/pkg:v1.0.0", "registry.local:5000", "org/pkg", "v1.0.0"),
        ("127.0.0.1:5000/pkg:v1", "127.0.0.1:5000", "pkg", "v1"),
        ("registry.io/pkg:v1.0.0", "registry.io", "pkg", "v1.0.0"),
        ("ghcr.io/org/sub/deep/pkg_x.y:V1.0", "ghcr.io", "org/sub/deep/pkg_x.y", "V1.0"),
        (f"ghcr.io/org/pkg@{DIGEST}", "ghcr.io", "org/pkg", DIGEST),
        (f"ghcr.io/org/pkg:v1@{DIGEST}", "ghcr.io", "org/pkg", DIGEST),
        ("[::1]:5000/a:v1", "[::1]:5000", "a", "v1"),
        ("localhost/a:v1", "localhost", "a", "v1"),
        ("GHCR.io:443/a:v1", "ghcr.io", "a", "v1"),
    ],
)
def test_a_full_reference_falls_into_its_parts(
    text: str, registry: str, repository: str, identifier: str
) -> None:
    reference = parse_reference(text)

    assert reference.source == Source(registry, repository)
    assert (reference.digest or reference.tag) == identifier


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (NOP, "neither a tag nor a digest"),
        ("crossplane-contrib/provider-nop:v0.4.0", "does not start with a registry host"),
        ("provider-nop:v0.4.0", "does not start with a registry host"),
        ("docker.io/provider-nop:v1", "docker.io/library/provider-nop"),
        ("registry.local:5000/org/pkg", "neither a tag nor a digest"),
        ("ghcr.io/Org/pkg:v1", "'Org/pkg' is not a repository"),
        ("ghcr.io/org/pkg:", "'' is not a tag"),
        ("ghcr.io/org/pkg@sha256:abc", "64 lower-case hex digits"),
        (f"ghcr.io/org/pkg:v1@sha512:{HEX}{HEX}", "after @ comes sha256:"),
        ("ghcr.io/org/pkg:v1.0.0+build", "'v1.0.0+build' is not a tag"),
        ("ghcr.io/org/pkg@v1.0.0", "after @ comes sha256:"),
        ("not.a.valid.package", "neither a tag nor a digest"),
        ("invalid::reference", "does not start with a registry host"),
        ("", "neither a tag nor a digest"),
    ],
)
def test_what_crossplanes_strict_parser_refuses_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(InvalidReference) as caught:
        parse_reference(text)

    assert why in caught.value.why[0]
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "text",
    [
        "https://h.io/a:v1",
        "u:p@h.io/a:v1",
        "h.io/a:v1:v2",
        "h.io/../a:v1",
        "h.io/a?x:v1",
        "h.io/A:v1",
        "h.io/a@sha256:../../x",
        "h.io/a:v1\r\nX: y",
        "h.io/a:v1\n",
        f"h.io/a@md5:{HEX[:32]}",
        f"h.io/a@{DIGEST.upper()}",
        f"h.io/a@{DIGEST}0",
        f"h.io/a@{DIGEST[:-1]}",
        f"h.io/a@{DIGEST[:-1]}g",
        f"h.io/a@{DIGEST}@{DIGEST}",
        "a/b",
        "[fe80::1%25lo]:5000/a:v1",
        "[127.0.0.1]:5000/a:v1",
        "::1/a:v1",
        "127.1/a:v1",
        "0x7f.0x1:5000/a:v1",
        "h.io:0/a:v1",
        "h.io:65536/a:v1",
        "h..io/a:v1",
        "-h.io/a:v1",
        "h.-h.io/a:v1",
        "h.h-.io/a:v1",
        "h.io//a:v1",
        "h.io/a/:v1",
        f"h.io/{'a' * 256}:v1",
        f"{'h' * 252}.io:80/a:v1",
        f"h.io/a:{'v' * 129}",
        "h.io/a:.v1",
        "h_h.io/a:v1",
        "h.io/a b:v1",
        "ｈ.io/a:v1",
    ],
)
def test_references_from_outside_that_could_mean_something_else_are_refused(text: str) -> None:
    with pytest.raises(InvalidReference) as caught:
        parse_reference(text)

    assert all(line.isprintable() for line in str(caught.value).split("\n"))


@pytest.mark.parametrize(
    ("text", "admitted"),
    [
        (f"{NOP}:v0.4.0", True),
        (NOP, False),
        ("crossplane-contrib/provider-nop:v0.4.0", False),
        ("provider-nop:v0.4.0", False),
        ("docker.io/provider-nop:v1", True),
        ("localhost:5000/org/pkg:v1.0.0", False),
        ("registry.local:5000/org/pkg:v1.0.0", True),
        ("registry.local:5000/org/pkg", False),
        ("127.0.0.1:5000/pkg:v1", True),
        ("registry.io/pkg:v1.0.0", True),
        ("ghcr.io/Org/pkg:v1", True),
        ("ghcr.io/org/pkg:", False),
        ("ghcr.io/org/pkg@sha256:abc", True),
        (f"ghcr.io/org/pkg:v1@sha512:{HEX}{HEX}", False),
        ("ghcr.io/org/pkg:v1.0.0+build", True),
        ("ghcr.io/org/sub/deep/pkg_x.y:V1.0", True),
        ("not.a.valid.package", False),
        ("invalid::reference", False),
        (f"{NOP}:v0.4.0@{DIGEST}", True),
    ],
)
def test_the_api_server_admits_by_a_rule_of_its_own(text: str, admitted: bool) -> None:
    assert is_admitted(text) is admitted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (NOP, Source("xpkg.crossplane.io", "crossplane-contrib/provider-nop")),
        ("registry.local:5000/org/pkg", Source("registry.local:5000", "org/pkg")),
        ("localhost/pkg", Source("localhost", "pkg")),
        ("docker.io/thing", Source("docker.io", "thing")),
        ("registry:5000/pkg", Source("registry:5000", "pkg")),
        ("registry:443/pkg", Source("registry", "pkg")),
        ("crossplane-contrib/provider-nop", PartialSource("crossplane-contrib/provider-nop")),
        ("provider-nop", PartialSource("provider-nop")),
        ("not.a.valid.package", PartialSource("not.a.valid.package")),
    ],
)
def test_a_dependency_is_a_source_or_the_end_of_one(text: str, expected: Source | PartialSource) -> None:
    parsed = parse_dependency_source(text)

    assert parsed == expected
    assert str(parsed) == text


@pytest.mark.parametrize(
    "text",
    [
        f"{NOP}:v0.4.0",
        f"{NOP}@{DIGEST}",
        f"provider-nop@{DIGEST}",
        "provider-nop:v1",
        "Provider-Nop",
        "ghcr.io/",
        "ghcr.io/Org/pkg",
        f"{NOP}/",
        f"{NOP} ",
        "https://ghcr.io/org/pkg",
        "../pkg",
        "",
    ],
)
def test_a_dependency_that_no_source_could_equal_is_refused(text: str) -> None:
    with pytest.raises(InvalidReference):
        parse_dependency_source(text)
    with pytest.raises(InvalidReference):
        parse_source(text)


@pytest.mark.parametrize("text", ["org/pkg", "pkg", "localhost", "ghcr.io"])
def test_a_source_needs_a_registry(text: str) -> None:
    with pytest.raises(InvalidReference, match="is not a package reference") as caught:
        parse_source(text)

    assert "does not start with a registry host" in caught.value.why[0]


@pytest.mark.parametrize(
    ("written", "dependant", "completed"),
    [
        (
            "crossplane-contrib/provider-dependency-a",
            "xpkg.upbound.io/crossplane-contrib/configuration-example",
            "xpkg.upbound.io/crossplane-contrib/provider-dependency-a",
        ),
        (
            "provider-dependency-b",
            "xpkg.upbound.io/crossplane-contrib/configuration-example",
            "xpkg.upbound.io/crossplane-contrib/provider-dependency-b",
        ),
        (
            "crossplane-contrib/provider-dependency-a",
            "pkg.acme.co/internal/configuration-example",
            "pkg.acme.co/crossplane-contrib/provider-dependency-a",
        ),
        (
            "provider-dependency-b",
            "pkg.acme.co/internal/configuration-example",
            "pkg.acme.co/internal/provider-dependency-b",
        ),
        ("provider-b", "pkg.acme.co/deep/er/configuration", "pkg.acme.co/deep/er/provider-b"),
        ("provider-b", "pkg.acme.co/configuration", "pkg.acme.co/provider-b"),
    ],
)
def test_a_partial_source_is_completed_from_its_dependant(
    written: str, dependant: str, completed: str
) -> None:
    partial = parse_dependency_source(written)

    assert isinstance(partial, PartialSource)
    assert partial.complete(parse_source(dependant)) == parse_source(completed)


@pytest.mark.parametrize(
    "shape",
    [
        "user:{}@host.io/a:v1",
        "{}@host.io/a:v1",
        "{}@host.io",
        "user:{}/x@host.io/a:v1",
        "user:x@{}@host.io/a:v1",
        "https://user:{}@host.io/a:v1",
        "https://user:{}/x@host.io/a:v1",
        f"user:{{}}@host.io/a@{DIGEST}",
        "user:{}@host.io:5000/a",
    ],
)
def test_a_password_in_a_reference_is_not_shown(shape: str, canary: str) -> None:
    for parse in (parse_reference, parse_source, parse_dependency_source, parse_digest):
        with pytest.raises(InvalidReference) as caught:
            parse(shape.format(canary))

        assert canary not in str(caught.value)
        assert canary not in repr([caught.value.what, *caught.value.why, *caught.value.next])


@pytest.mark.parametrize("text", [DIGEST, f"sha256:{'0' * 64}"])
def test_a_digest_is_sha256_and_64_digits(text: str) -> None:
    assert parse_digest(text) == text
    assert is_digest(text)


@pytest.mark.parametrize("text", ["", HEX, f"{DIGEST}0", f"{DIGEST}\n", DIGEST.upper(), "sha512:" + HEX * 2])
def test_anything_else_is_no_digest(text: str) -> None:
    assert not is_digest(text)
    with pytest.raises(InvalidInput):
        parse_digest(text)


@pytest.mark.parametrize(
    ("text", "fits"),
    [("v1", True), ("_", True), ("V1.0-x_y", True), ("a" * 128, True)]
    + [(text, False) for text in ("", ".a", "-a", "a" * 129, "a+b", "a/b", "a\n", "é")],
)
def test_a_tag_is_a_short_word(text: str, fits: bool) -> None:
    assert is_tag(text) is fits


@given(sources)
def test_a_source_reads_back_from_its_text(text: str) -> None:
    source = parse_source(text)

    assert parse_source(str(source)) == source
    assert parse_dependency_source(str(source)) == source


@given(repositories.filter(lambda path: "." not in path.partition("/")[0]))
def test_a_partial_source_reads_back_from_its_text(text: str) -> None:
    partial = parse_dependency_source(text)

    assert parse_dependency_source(str(partial)) == partial


@given(sources, st.none() | tags, st.none() | digests)
def test_a_reference_reads_back_from_its_text(text: str, tag: str | None, digest: str | None) -> None:
    reference = Reference(parse_source(text), tag, parse_digest(digest) if digest else None)

    if tag is None and digest is None:
        with pytest.raises(InvalidReference):
            parse_reference(str(reference))
    else:
        assert parse_reference(str(reference)) == reference


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (parse_reference, parse_source, parse_dependency_source):
        try:
            parse(text)
        except InvalidReference as error:
            assert str(error)
