"""Every bound has a name, a default and a setting; what hits one says so."""

from dataclasses import fields

import pytest

from render.errors import InvalidInput
from render.limits import GIB, KIB, MIB, LimitExceeded, Limits, format_amount, format_bytes, setting


def test_without_settings_there_are_the_defaults() -> None:
    assert Limits.from_environment({"HOME": "/", "XPLOCK_CACHE_DIR": "/x"}) == Limits()


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("1", 1),
        (" 64KiB ", 64 * KIB),
        ("64 k", 64 * KIB),
        ("10MiB", 10 * MIB),
        ("10m", 10 * MIB),
        ("1GIB", GIB),
        ("2g", 2 * GIB),
        ("999999999999999", 999999999999999),
    ],
)
def test_a_setting_is_an_amount_with_a_unit(text: str, amount: int) -> None:
    assert Limits.from_environment({"XPLOCK_LIMIT_LAYER_BYTES": text}).layer_bytes == amount


@pytest.mark.parametrize(
    "text",
    ["", "0", "0MiB", "-1", "1.5", "1e3", "many", "1TB", "1 000", "9" * 16, "٣", "1\n2", "0x10", "1_000"],
)
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="is not an amount") as refused:
        Limits.from_environment({"XPLOCK_LIMIT_TAGS": text})

    assert refused.value.exit_code == 2
    assert "XPLOCK_LIMIT_TAGS" in refused.value.next[0]


def test_a_limit_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match="unknown limit XPLOCK_LIMIT_TAG") as refused:
        Limits.from_environment({"XPLOCK_LIMIT_TAG": "1", "XPLOCK_LIMIT_TAGS": "1"})

    assert "XPLOCK_LIMIT_TAGS" in refused.value.why[0]


@pytest.mark.parametrize("name", [field.name for field in fields(Limits)])
def test_every_limit_can_be_set(name: str) -> None:
    limits = Limits.from_environment({setting(name): "7"})

    assert getattr(limits, name) == 7
    assert getattr(Limits(), name) > 0


def test_what_hits_a_limit_names_it_its_setting_and_what_was_found() -> None:
    error = LimitExceeded("x is too large", "meta_bytes", Limits(), found="2 MiB")

    assert str(error) == (
        "x is too large\n"
        "  why:  the limit is 1 MiB; found 2 MiB\n"
        "  next: if you trust where it comes from, raise the limit with XPLOCK_LIMIT_META_BYTES"
    )
    assert error.exit_code == 1


@pytest.mark.parametrize(
    ("amount", "text"),
    [(1, "1 bytes"), (1023, "1,023 bytes"), (KIB, "1 KiB"), (1500, "1,500 bytes"), (64 * KIB, "64 KiB"),
     (3 * MIB, "3 MiB"), (1025 * MIB, "1025 MiB"), (2 * GIB, "2 GiB")],
)  # fmt: skip
def test_bytes_are_written_in_the_largest_unit_that_fits(amount: int, text: str) -> None:
    assert format_bytes(amount) == format_amount("layer_bytes", amount) == text


def test_other_amounts_are_counted() -> None:
    assert format_amount("tar_members", 10_000) == "10,000 tar members"
