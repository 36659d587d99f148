"""The operator's settings are a value, made once from an environment."""

import pytest

from render.app.operator_settings import OperatorSettings
from render.errors import InvalidInput


def test_limits_are_read_once_with_the_settings() -> None:
    environ = {"XPLOCK_LIMIT_TAGS": "7"}
    operator = OperatorSettings.from_environment(environ)

    environ["XPLOCK_LIMIT_TAGS"] = "8"

    assert operator.limits.tags == 7


def test_a_limit_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="unknown limit XPLOCK_LIMIT_NOPE"):
        OperatorSettings.from_environment({"XPLOCK_LIMIT_NOPE": "1"})


def test_variables_are_never_shown() -> None:
    operator = OperatorSettings.from_environment({"HTTPS_PROXY": "http://robin:secret@proxy.example"})

    assert "secret" not in repr(operator)


def test_settings_without_a_cache_differ_in_nothing_else() -> None:
    operator = OperatorSettings.from_environment({"XPLOCK_CACHE_DIR": "/x", "HOME": "/y"})

    without = operator.without_cache()

    assert dict(without.environ) == {"XPLOCK_CACHE_DIR": "", "HOME": "/y"}
    assert without.limits == operator.limits
    assert operator.environ["XPLOCK_CACHE_DIR"] == "/x"
