"""Settings are read by one table, which is also the schema that editors use."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from render.digests import digest_value
from render.inputs.record import make_record
from render.inputs.settings.file import parse_settings
from render.inputs.settings.schema import SCHEMA_FILE, format_schema
from render.limits import Limits
from render.mirrors import BARE, Mirror
from render.moves import Consent, Strategy
from render.overrides import Override
from render.references import Digest, Source
from render.rewrites import Rewrite
from render.settings import Detach, Families, PartialDependencies, PinMode, Settings, Waves
from render.versions.constraints import parse_constraint
from render.versions.requests import Request

# It comes without types.
jsonschema: Any = import_module("jsonschema")

DIGEST = Digest("sha256:" + "ab" * 32)
STORE = "xpkg.example.org/acme/provider-store"
SHOP = "xpkg.example.org/acme/store"

EVERYTHING = f"""
# yaml-language-server: $schema=xplock.schema.json
roots:
- package: {STORE}
  version: ">=v1.2"
  name: store
rewrites:
- from: xpkg.example.org/
  to: mirror.corp/xp/
moves:
- from: {STORE}
  to: XPKG.example.org:443/acme/store
  strategy: repoint
uses: [../platform]
crossplaneVersion: v2.3.4
families: free
partialDependencies: refuse
overrides:
- prefix: XPKG.example.org:443/acme/
  runtimeConfig: small
pin: native
detach: all
guard: false
waves: graph
overlay: overlays/production
layouts:
- prefix: XPKG.example.org:443/acme/
  folder: registry
mirror:
  to: Mirror.example.org:443/xp/
  paths: bare
  pullSecret: mirror-login
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project folder with everything that the settings name."""
    (tmp_path / "platform").mkdir()
    (tmp_path / "project/registry").mkdir(parents=True)
    (tmp_path / "project/overlays/production").mkdir(parents=True)
    return tmp_path / "project"


def parse(text: str, folder: Path) -> Settings:
    problems: list[str] = []
    settings = parse_settings(text.encode(), folder, Limits(), problems)
    assert problems == []
    return settings


def problems_of(text: str, folder: Path) -> list[str]:
    problems: list[str] = []
    parse_settings(text.encode(), folder, Limits(), problems)
    return problems


def test_every_key_is_read(folder: Path) -> None:
    settings = parse(EVERYTHING, folder)

    (root,) = settings.roots
    assert root.source == Source("xpkg.example.org", "acme/provider-store")
    assert root.request == Request(parse_constraint(">=v1.2"))
    assert (root.name, root.kind, root.place) == ("store", None, "xplock.yaml: roots[0]")
    assert settings.rewrites == (Rewrite("xpkg.example.org/", "mirror.corp/xp/", "xplock.yaml: rewrites[0]"),)
    (move,) = settings.moves
    assert (str(move.source), [str(target) for target in move.targets]) == (STORE, [SHOP])
    assert (move.strategy, move.consent) == (Strategy.REPOINT, Consent.MOVES)
    assert move.place == "xplock.yaml: moves[0]"
    assert settings.uses == (("../platform", folder / "../platform"),)
    assert str(settings.crossplane_version) == "v2.3.4"
    assert settings.families is Families.FREE
    assert settings.partial_dependencies is PartialDependencies.REFUSE
    assert settings.overrides == (Override("xpkg.example.org/acme", runtime_config="small"),)
    assert settings.pin is PinMode.NATIVE
    assert settings.detach is Detach.ALL
    assert settings.guard is False
    assert settings.waves is Waves.GRAPH
    assert settings.overlay == folder / "overlays/production"
    assert settings.layouts == (("xpkg.example.org/acme", folder / "registry"),)
    assert settings.mirror == Mirror("mirror.example.org/xp", BARE, "mirror-login")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing but a remark\n",
        "{}",
        "roots:",
        "roots: []\nlayouts: []\nrewrites: []\nmoves: []\nuses:",
        "families: follow\npartialDependencies: complete",
        "overrides: []\npin: digest\ndetach: needed\nguard: true\nwaves: flat\noverlay:",
        # YAML has more than one word for true.
        "guard: yes",
    ],
)
def test_what_is_not_said_has_its_default_value(text: str, tmp_path: Path) -> None:
    assert parse(text, tmp_path) == Settings()


def test_by_default_packages_are_pinned_by_digest_guarded_and_detached_only_where_needed() -> None:
    settings = Settings()

    assert (settings.pin, settings.detach, settings.guard) == (PinMode.DIGEST, Detach.NEEDED, True)
    assert (settings.waves, settings.overlay, settings.overrides) == (Waves.FLAT, None, ())


@pytest.mark.parametrize(
    ("text", "mode"), [("digest", PinMode.DIGEST), ("tag", PinMode.TAG), ("native", PinMode.NATIVE)]
)
def test_every_way_to_pin_is_a_word(text: str, mode: PinMode, tmp_path: Path) -> None:
    assert parse(f"pin: {text}", tmp_path).pin is mode


def test_an_overlay_may_be_outside_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "shared").mkdir()

    settings = parse("overlay: ../shared", tmp_path / "project")

    assert settings.overlay == tmp_path / "project/../shared"


@pytest.mark.parametrize(
    ("package", "request_"),
    [
        (STORE, Request()),
        (f"{STORE}:v1.2.3", Request(tag="v1.2.3")),
        (f"{STORE}@{DIGEST}", Request(digest=DIGEST)),
        (f"{STORE}:v1.2.3@{DIGEST}", Request(tag="v1.2.3", digest=DIGEST)),
    ],
)
def test_a_root_asks_for_what_its_reference_says(package: str, request_: Request, tmp_path: Path) -> None:
    (root,) = parse(f"roots: [{{package: '{package}'}}]", tmp_path).roots

    assert root.request == request_


def test_a_range_may_be_a_digest(tmp_path: Path) -> None:
    (root,) = parse(f"roots: [{{package: {STORE}, version: '{DIGEST}'}}]", tmp_path).roots

    assert root.request == Request(digest=DIGEST)


@pytest.mark.parametrize(
    ("text", "place", "fact"),
    [
        ("rootz: []", "rootz", "did you mean roots?"),
        ("family: free", "family", "did you mean families?"),
        ("qqq: 1", "qqq", "the keys are roots, rewrites"),
        ("roots: [{package: a.b/c, versoin: 1}]", "roots[0].versoin", "did you mean version?"),
        ("roots: [{version: '*'}]", "roots[0].package", "it is missing"),
        ("roots: [null]", "roots[0].package", "it is missing"),
        ("roots: [text]", "roots[0]", "expected a mapping, found text"),
        ("roots: {}", "roots", "expected a list, found a mapping"),
        ("roots: [{package: 5}]", "roots[0].package", "expected text, found 5"),
        ("roots: [{package: ''}]", "roots[0].package", "it is empty"),
        ("roots: [{package: acme/x}]", "roots[0].package", "does not start with a registry host"),
        ("roots: [{package: 'docker.io/x'}]", "roots[0].package", "docker.io/library/x"),
        (f"roots: [{{package: {STORE}, version: '>>1'}}]", "roots[0].version", "not a version constraint"),
        (f"roots: [{{package: '{STORE}:v1', version: '*'}}]", "roots[0].version", "excludes a tag"),
        (f"roots: [{{package: '{STORE}@{DIGEST}', version: '*'}}]", "roots[0].version", "excludes a tag"),
        (f"roots: [{{package: {STORE}, name: Store}}]", "roots[0].name", "a DNS label"),
        (f"roots: [{{package: {STORE}, name: {'a' * 64}}}]", "roots[0].name", "a DNS label"),
        ("rewrites: [{from: a, to: ''}]", "rewrites[0].to", "it is empty"),
        ("rewrites: [{from: a}]", "rewrites[0].to", "it is missing"),
        ("crossplaneVersion: 2.3", "crossplaneVersion", "write it in quotes"),
        ("crossplaneVersion: two", "crossplaneVersion", "is not a version"),
        (
            "crossplaneVersion: v1.17.0",
            "crossplaneVersion",
            "v1.17.0 is too old: pin: digest needs Crossplane v2.2 or newer; write pin: tag, the default is digest",
        ),
        ("{crossplaneVersion: v2.1.9, pin: digest}", "crossplaneVersion", "v2.2 or newer; write pin: tag"),
        (
            "{crossplaneVersion: v1.19.0, pin: tag, rewrites: [{from: a.b, to: c.d}]}",
            "crossplaneVersion",
            "rewrites needs Crossplane v1.20 or newer",
        ),
        (
            "{crossplaneVersion: v1.13.0, pin: native, overrides: [{prefix: a.b, runtimeConfig: x}]}",
            "crossplaneVersion",
            "overrides: runtimeConfig needs Crossplane v1.14 or newer",
        ),
        ("families: loose", "families", "expected follow or free, found 'loose'"),
        ("partialDependencies: maybe", "partialDependencies", "expected complete or refuse"),
        ("layouts: no", "layouts", "expected a list, found true or false"),
        (r'layouts: [{prefix: a.b, folder: "a\0b"}]', "layouts[0].folder", "is no path"),
        ("layouts: [{prefix: 'https://a.b', folder: .}]", "layouts[0].prefix", "is neither a source nor"),
        (
            "layouts: [{prefix: a.b, folder: .}, {prefix: a.b/, folder: .}]",
            "layouts[1].prefix",
            "a.b has an entry already",
        ),
        ("pin: sha", "pin", "expected digest, tag or native, found 'sha'"),
        ("pin: 1", "pin", "expected text, found 1; write it in quotes"),
        ("pin: ''", "pin", "it is empty"),
        ("pins: tag", "pins", "did you mean pin?"),
        ("detach: none", "detach", "expected needed or all, found 'none'"),
        ("detach: [all]", "detach", "expected text, found a list"),
        (
            "guard: 'false'",
            "guard",
            'expected true or false, found the text "false"; write it without quotes',
        ),
        ("guard: maybe", "guard", 'expected true or false, found the text "maybe"'),
        ("guard: 0", "guard", "expected true or false, found 0"),
        ("guard: {}", "guard", "expected true or false, found a mapping"),
        ("waves: tidal", "waves", "expected flat or graph, found 'tidal'"),
        ("overlay: nowhere", "overlay", "'nowhere' is not a folder"),
        (f"overlay: {'n' * 300}", "overlay", "is not a folder"),
        (r'overlay: "a\0b"', "overlay", "is not a folder"),
        ("overlay: ''", "overlay", "it is empty"),
        ("overlay: true", "overlay", "expected text, found true; write it in quotes"),
        ("moves: [{from: a.b/c}]", "moves[0].to", "it is missing"),
        ("mirror: {}", "mirror.to", "it is missing"),
        ("mirror: {to: nowhere}", "mirror.to", "neither a source nor the beginning of one"),
        ("mirror: {to: a.b/c:v1}", "mirror.to", "neither a source nor the beginning of one"),
        ("mirror: {to: a.b/c, paths: short}", "mirror.paths", "expected full or bare"),
        ("mirror: {to: a.b/c, pullSecret: A_B}", "mirror.pullSecret", "expected the name of a secret"),
        ("mirror: {to: a.b/c, secret: x}", "mirror.secret", "did you mean pullSecret?"),
        ("mirror: a.b/c", "mirror", "expected a mapping, found text"),
        ("move: []", "move", "did you mean moves?"),
        ("use: [..]", "use", "did you mean uses?"),
        ("[]", "expected a mapping", "expected a mapping, found a list"),
        ("{}\n---\n{}", "", "expected one document, found 2"),
        ("roots: [", "line ", "did not find"),
        ("families: free\nfamilies: free", "line 2", "a second time"),
    ],
)
def test_a_problem_names_the_file_and_the_place(text: str, place: str, fact: str, tmp_path: Path) -> None:
    (problem,) = problems_of(text, tmp_path)

    assert problem.startswith(f"xplock.yaml: {place}")
    assert fact in problem


def test_a_file_is_no_overlay(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").touch()

    problems = problems_of("overlay: kustomization.yaml", tmp_path)

    assert problems == ["xplock.yaml: overlay: 'kustomization.yaml' is not a folder"]


def test_all_problems_come_at_once(tmp_path: Path) -> None:
    problems = problems_of(
        'colour: red\nfamilies: 1\nroots: [{}, {package: x}]\nlayouts: [{prefix: x, folder: "a\\0b"}]\n'
        "overrides: [{prefix: x, historyLimit: -1}]\nguard: 1",
        tmp_path,
    )

    places = sorted(problem.split(": ")[1] for problem in problems)
    assert places == [
        "colour",
        "families",
        "guard",
        "layouts[0].folder",
        "layouts[0].prefix",
        "overrides[0].historyLimit",
        "overrides[0].prefix",
        "roots[0].package",
        "roots[1].package",
    ]


def test_only_what_differs_from_the_defaults_is_given(folder: Path) -> None:
    settings = parse(EVERYTHING.replace("families: free", "families: follow"), folder)

    assert settings.given == {
        "moves": [{"from": STORE, "to": ["XPKG.example.org:443/acme/store"], "strategy": "repoint"}],
        "uses": ["../platform"],
        "crossplaneVersion": "v2.3.4",
        "partialDependencies": "refuse",
        "overrides": [{"prefix": "XPKG.example.org:443/acme/", "runtimeConfig": "small"}],
        "pin": "native",
        "detach": "all",
        "guard": False,
        "waves": "graph",
        "overlay": "overlays/production",
        "layouts": [{"prefix": "XPKG.example.org:443/acme/", "folder": "registry"}],
        "mirror": {"to": "Mirror.example.org:443/xp/", "paths": "bare", "pullSecret": "mirror-login"},
    }


def test_what_only_rendering_reads_is_not_recorded(folder: Path) -> None:
    settings = parse(EVERYTHING, folder)

    record = make_record(settings.roots, settings.rewrites, settings)

    assert list(record) == [
        "rewrite xpkg.example.org/",
        f"root {STORE}",
        "setting crossplaneVersion",
        "setting detach",
        "setting families",
        "setting guard",
        "setting layouts",
        "setting moves",
        "setting overrides",
        "setting partialDependencies",
        "setting pin",
        "setting uses",
    ]
    assert record["setting guard"] == digest_value(False)
    assert record["setting pin"] == digest_value("native")


def test_the_record_tells_any_two_overrides_apart(tmp_path: Path) -> None:
    texts = [
        "",
        "overrides: [{prefix: a.b, labels: {x: v}}]",
        "overrides: [{prefix: a.b, labels: {x: w}}]",
        "overrides: [{prefix: a.b, annotations: {x: v}}]",
        "overrides: [{prefix: a.b, historyLimit: 0}]",
    ]

    records = [make_record((), (), parse(text, tmp_path)) for text in texts]

    assert len({record.get("setting overrides") for record in records}) == len(texts)


def test_the_record_tells_any_two_moves_apart_and_one_target_from_no_list_of_one(tmp_path: Path) -> None:
    texts = [
        "",
        "moves: [{from: a.b/c, to: a.b/d}]",
        "moves: [{from: a.b/d, to: a.b/c}]",
        "moves: [{from: a.b/c, to: [a.b/d, a.b/e]}]",
        "moves: [{from: a.b/c, to: [a.b/e, a.b/d]}]",
        "moves: [{from: a.b/c, to: a.b/d, strategy: alias}]",
    ]

    records = [make_record((), (), parse(text, tmp_path)) for text in texts]
    listed = make_record((), (), parse("moves: [{from: a.b/c, to: [a.b/d]}]", tmp_path))

    assert len({record.get("setting moves") for record in records}) == len(texts)
    assert listed == records[1]


def test_the_shipped_schema_is_the_one_of_the_table() -> None:
    assert SCHEMA_FILE.read_bytes() == format_schema()


def test_the_schema_is_one_that_editors_understand() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(format_schema()))


@pytest.mark.parametrize(
    "document",
    [
        {"roots": [{"package": STORE, "version": "^1", "name": "store"}], "families": "free"},
        {"rewrites": [{"from": "a", "to": "b"}], "crossplaneVersion": "v2.3.4"},
        {"roots": [{"version": "^1"}]},
        {"roots": [{"package": ""}]},
        {"roots": [{"package": STORE, "name": "Not-A-Label"}]},
        {"roots": {}},
        {"families": "loose"},
        {"colour": "red"},
        {"rewrites": [{"from": "a", "to": "b", "why": "c"}]},
        {"crossplaneVersion": 2},
        {"pin": "native", "detach": "all", "guard": False, "waves": "graph"},
        {"pin": "sha"},
        {"detach": "none"},
        {"guard": "false"},
        {"guard": 1},
        {"waves": True},
        {"overlay": "."},
        {"overlay": ""},
        {"moves": [{"from": STORE, "to": SHOP}]},
        {"moves": [{"from": STORE, "to": [SHOP], "strategy": "alias"}]},
        {"moves": [{"from": STORE, "to": []}]},
        {"moves": [{"from": STORE, "to": ""}]},
        {"moves": [{"from": STORE, "to": [""]}]},
        {"moves": [{"from": STORE, "to": [1]}]},
        {"moves": [{"from": STORE, "to": {}}]},
        {"moves": [{"from": STORE}]},
        {"moves": [{"to": SHOP}]},
        {"moves": [{"from": [STORE], "to": SHOP}]},
        {"moves": [{"from": STORE, "to": SHOP, "strategy": "plain"}]},
        {"moves": {"from": STORE, "to": SHOP}},
        {"uses": [".."]},
        {"uses": []},
        {"uses": ".."},
        {"uses": [""]},
        {"mirror": {"to": "mirror.example.org/xp", "pullSecret": "mirror-login"}},
        {"mirror": {"to": "mirror.example.org/xp", "pullSecret": "Mirror_Login"}},
        {"mirror": {"paths": "bare"}},
        {"mirror": []},
    ],
)
def test_parser_and_schema_agree_on_what_is_wrong(document: dict[str, Any], tmp_path: Path) -> None:
    accepted = jsonschema.Draft202012Validator(json.loads(format_schema())).is_valid(document)

    assert (problems_of(json.dumps(document), tmp_path) == []) is accepted
