"""Definitions that appear, vanish or move to another package."""

from collections.abc import Iterator

from render.definitions.findings import Difference, differ
from render.definitions.index import Brought
from render.definitions.rules import Risk
from render.packages import Kind

_DELETED = "it is deleted with its package, and all its objects with it"
_RETIRED = "no active package brings it; `xplock retire` deletes it with all its objects"
_KEPT = "it stays in the cluster, and no controller of the package reconciles its objects"
_FROZEN = "it stays in the cluster as it is, until its package goes"
_NO_POD = "its webhook does not answer from the moment the old package stops until the new one runs: use alias or repoint"
_NO_POD_LEFT = "its webhook does not answer once the package is switched off"


def compare_presence(old: Brought | None, new: Brought | None, *, is_kept: bool) -> Iterator[Difference]:
    """Find a definition that one side lacks, or that another package brings; `is_kept`: the old package stays active."""
    if old is None:
        if new is not None and new.bringer.is_active:
            yield differ("definition-new")
    elif new is None:
        yield _gone(old, is_kept=is_kept)
    elif old.bringer.is_active and not new.bringer.is_active:
        yield differ("definition-gone", detail=_RETIRED)
        yield from _without_webhook(old, _NO_POD_LEFT)
    elif (old.bringer.name, old.bringer.object_name) != (new.bringer.name, new.bringer.object_name):
        yield differ("definition-moved", before=old.bringer.name, after=new.bringer.name)
        if _service(old) != _service(new):
            yield from _without_webhook(new, _NO_POD)


def _gone(old: Brought, *, is_kept: bool) -> Difference:
    if not is_kept:
        return differ("definition-gone", detail=_DELETED)
    is_provider = old.bringer.kind is Kind.PROVIDER
    return differ("definition-gone", Risk.WRITERS, detail=_KEPT if is_provider else _FROZEN)


def _service(brought: Brought) -> object:
    # The service of a conversion webhook has the name of the package object.
    return brought.bringer.kind, brought.bringer.object_name


def _without_webhook(brought: Brought, detail: str) -> Iterator[Difference]:
    # With one version there is nothing to convert.
    if brought.item.conversion == "Webhook" and len(brought.item.versions) > 1:
        yield differ("conversion", after="Webhook", detail=detail)
