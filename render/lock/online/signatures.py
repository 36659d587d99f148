"""A locked package and the verdict on its signatures."""

from dataclasses import dataclass

from render.lock.model import LockedPackage
from render.signatures.verdicts import Judgement


@dataclass(frozen=True, slots=True)
class Judged:
    """A package, the reference that Crossplane pulls it by, and the verdict."""

    package: LockedPackage
    reference: str
    judgement: Judgement
