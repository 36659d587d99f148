"""Reasons why a signature is not good."""

from enum import StrEnum


class Reason(StrEnum):
    """The kinds of reasons, from a stranger's signature to one that lacks a detail."""

    UNREADABLE = "unreadable"
    UNSUPPORTED = "not supported"
    WRONG_KEY = "wrong key"
    WRONG_FORM = "no certificate"
    UNTRUSTED = "certificate not trusted"
    WRONG_IDENTITY = "wrong identity"
    NO_SCT = "no certificate timestamp"
    WRONG_CLAIM = "wrong claim"
    EXPIRED = "expired when it was logged"
    WRONG_ENTRY = "wrong log entry"
    # Something is missing to judge it: a key, or the roots of trust.
    UNKNOWN = "not checked"
    # Everything else about it is good.
    NOT_LOGGED = "not logged"


class Refused(Exception):
    """A signature, or a part of one, that is not good."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text
