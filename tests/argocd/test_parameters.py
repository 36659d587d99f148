"""What an Application may choose, and how that is read."""

import json
from pathlib import Path

import pytest

from render.argocd.parameters import (
    Chosen,
    InvalidParameters,
    InvalidVariables,
    announce,
    apply_parameters,
    read_parameters,
)
from render.inputs.projects import Inputs
from render.settings import Settings, Waves


def inputs(folder: Path, settings: Settings | None = None) -> Inputs:
    """Return what a folder asks for, which is nothing."""
    return Inputs(folder, (), settings or Settings(), (), (), {})


def texts(environ: dict[str, str]) -> dict[str, str]:
    """Return the values of the parameters in an environment."""
    return {name: chosen.text for name, chosen in read_parameters(environ).items()}


def given(*entries: object) -> dict[str, str]:
    """Return the variable that holds parameters."""
    return {"ARGOCD_APP_PARAMETERS": json.dumps(entries)}


@pytest.mark.parametrize("text", [None, "", "null", "[]"])
def test_an_application_without_parameters_chooses_nothing(text: str | None) -> None:
    environ = {} if text is None else {"ARGOCD_APP_PARAMETERS": text}

    assert texts(environ) == {}


def test_a_parameter_wins_over_env_and_env_over_the_operator() -> None:
    operator = {"XPLOCK_WAVES": "operator", "XPLOCK_OVERLAY": "operator"}
    tenant = operator | {"ARGOCD_ENV_XPLOCK_WAVES": "tenant"}
    everyone = tenant | given({"name": "waves", "string": "parameter"})

    assert texts(operator) == {"waves": "operator", "overlay": "operator"}
    assert texts(tenant) == {"waves": "tenant", "overlay": "operator"}
    assert texts(everyone) == {"waves": "parameter", "overlay": "operator"}


def test_an_empty_text_chooses_nothing() -> None:
    environ = {"XPLOCK_WAVES": "graph", "ARGOCD_ENV_XPLOCK_WAVES": ""} | given(
        {"name": "waves", "string": ""}
    )

    assert texts(environ) == {"waves": "graph"}


def test_variables_that_argo_cd_makes_of_parameters_are_not_read() -> None:
    assert texts({"PARAM_WAVES": "graph"}) == {}


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ([{"name": "lockPolicy", "string": "resolve"}], "'lockPolicy' is not a parameter"),
        ([{"string": "graph"}], "None is not a parameter"),
        ([{"name": ["waves"], "string": "graph"}], "['waves'] is not a parameter"),
        (["waves"], "None is not a parameter"),
        ([{"name": "waves", "array": ["graph"]}], "waves: expected a string"),
        ([{"name": "waves", "string": "graph", "map": {}}], "waves: expected a string"),
        ([{"name": "waves", "string": 1}], "waves: expected a string"),
        ([{"name": "waves", "string": "flat"}] * 2, "waves is given twice"),
    ],
)
def test_what_cannot_be_obeyed_is_told(entries: list[object], problem: str) -> None:
    with pytest.raises(InvalidParameters) as caught:
        read_parameters(given(*entries))

    assert caught.value.why == (problem,)


@pytest.mark.parametrize("text", ["{", "[" * 4_000, "nonsense"])
def test_what_is_not_json_is_told(text: str) -> None:
    with pytest.raises(InvalidParameters) as caught:
        read_parameters({"ARGOCD_APP_PARAMETERS": text})

    assert caught.value.why == ("ARGOCD_APP_PARAMETERS is not JSON",)


@pytest.mark.parametrize("text", ['"waves"', "7", "{}", "true"])
def test_json_that_is_no_list_of_parameters_chooses_nothing_or_is_told(text: str) -> None:
    if text == "{}":
        assert texts({"ARGOCD_APP_PARAMETERS": text}) == {}
        return
    with pytest.raises(InvalidParameters):
        read_parameters({"ARGOCD_APP_PARAMETERS": text})


def test_more_than_anybody_needs_is_refused_unread() -> None:
    with pytest.raises(InvalidParameters, match="cannot be used"):
        read_parameters(given({"name": "waves", "string": "x" * 5_000}))


def test_waves_are_changed_and_nothing_else(tmp_path: Path) -> None:
    before = inputs(tmp_path)

    after = apply_parameters(before, {"waves": Chosen("graph")})

    assert after.settings.waves == Waves.GRAPH
    assert apply_parameters(after, {"waves": Chosen("flat")}) == before


@pytest.mark.parametrize("overlay", ["/etc", "nowhere", "file", "x" * 300, "\0"])
def test_an_overlay_is_a_folder_that_is_there(tmp_path: Path, overlay: str) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(InvalidParameters) as caught:
        apply_parameters(inputs(tmp_path), {"overlay": Chosen(overlay)})

    assert caught.value.why == (f"overlay: {overlay!r} is not a folder, relative to the project",)


def test_an_overlay_inside_of_the_project_is_taken(tmp_path: Path) -> None:
    (tmp_path / "overlays/production").mkdir(parents=True)

    chosen = apply_parameters(inputs(tmp_path), {"overlay": Chosen("overlays/production")})

    assert chosen.settings.overlay == tmp_path / "overlays/production"


def test_the_announcement_shows_what_holds_without_a_choice(tmp_path: Path) -> None:
    settings = Settings(waves=Waves.GRAPH, overlay=tmp_path / "overlay")

    announced = json.loads(announce(settings, tmp_path, {}))

    assert [(entry["name"], entry["string"]) for entry in announced] == [
        ("waves", "graph"),
        ("overlay", "overlay"),
    ]


def test_the_announcement_shows_variables_in_their_order_and_no_parameter(tmp_path: Path) -> None:
    environ = {"XPLOCK_WAVES": "flat", "XPLOCK_OVERLAY": "operator", "ARGOCD_ENV_XPLOCK_WAVES": "graph"}
    environ |= given({"name": "overlay", "string": "parameter"})

    announced = json.loads(announce(Settings(), tmp_path, environ))

    assert [entry["string"] for entry in announced] == ["graph", "operator"]


def test_a_wrong_variable_of_the_operator_is_not_told_as_a_parameter(tmp_path: Path) -> None:
    chosen = read_parameters({"XPLOCK_OVERLAY": "nowhere", "XPLOCK_WAVES": "deep"})

    with pytest.raises(InvalidVariables) as caught:
        apply_parameters(inputs(tmp_path), chosen)

    assert caught.value.why == (
        "XPLOCK_WAVES: expected flat or graph, found 'deep'",
        "XPLOCK_OVERLAY: 'nowhere' is not a folder, relative to the project",
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (".", "'.' is the project folder itself"),
        ("../project", "'../project' is the project folder itself"),
        ("../..", "'../..' is outside of the repository"),
    ],
)
def test_a_folder_that_can_be_no_overlay_is_an_error_of_the_variable(
    tmp_path: Path, text: str, why: str
) -> None:
    (tmp_path / "repository/.git").mkdir(parents=True)
    (tmp_path / "repository/project").mkdir()

    with pytest.raises(InvalidVariables) as caught:
        apply_parameters(inputs(tmp_path / "repository/project"), read_parameters({"XPLOCK_OVERLAY": text}))

    assert caught.value.why == (f"XPLOCK_OVERLAY: {why}",)


def test_a_wrong_parameter_is_told_before_a_wrong_variable(tmp_path: Path) -> None:
    environ = {"XPLOCK_OVERLAY": "nowhere"} | given({"name": "waves", "string": "deep"})

    with pytest.raises(InvalidParameters) as caught:
        apply_parameters(inputs(tmp_path), read_parameters(environ))

    assert caught.value.why == ("waves: expected flat or graph, found 'deep'",)
