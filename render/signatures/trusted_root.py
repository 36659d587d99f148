"""The file with the roots of trust: certificate authorities, and the keys of the logs of signatures and certificates."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from render.errors import InvalidInput
from render.limits import Limits
from render.signatures.crypto.certificates import Certificate
from render.signatures.crypto.keys import PublicKey
from render.signatures.encoding import dig, read_object, text_at, unbase64
from render.signatures.refusals import Reason, Refused
from render.system.files import read_mounted

VARIABLE = "XPLOCK_TRUSTED_ROOT"
ADVICE = "write it with cosign 3: cosign trusted-root create --with-default-services --out trusted_root.json"
_WHAT = "the file"


class InvalidRoot(InvalidInput):
    """A file that is no trusted root."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the file of --trusted-root or {VARIABLE} cannot be used", why=why, next=ADVICE)


@dataclass(frozen=True, slots=True)
class TrustedRoot:
    """The authorities and logs that are believed."""

    roots: tuple[Certificate, ...] = ()
    intermediates: tuple[Certificate, ...] = ()
    # The keys of logs by their fingerprints.
    logs: Mapping[str, PublicKey] = field(default_factory=dict)
    certificate_logs: Mapping[str, PublicKey] = field(default_factory=dict)


def read_trusted_root(environ: Mapping[str, str], limits: Limits) -> TrustedRoot | None:
    """Read the operator's file, or return None if there is none."""
    if not environ.get(VARIABLE):
        return None
    data = read_mounted(environ, VARIABLE, "trusted_root_bytes", limits)
    if not data:
        raise InvalidRoot("it is missing, or not a plain file")
    try:
        return parse_trusted_root(data)
    except Refused as error:
        raise InvalidRoot(error.text) from None


def parse_trusted_root(data: bytes) -> TrustedRoot:
    """Parse the JSON document that cosign calls a trusted root."""
    value = read_object(data, (), _WHAT)
    chains = [dig(one, "certChain", "certificates") for one in _items(value, "certificateAuthorities")]
    certificates = [
        _certificate(raw) for chain in chains for raw in (chain if isinstance(chain, list) else ())
    ]
    root = TrustedRoot(
        tuple(one for one in certificates if one.is_own_issuer),
        tuple(one for one in certificates if not one.is_own_issuer),
        {key.fingerprint: key for key in _keys(value, "tlogs")},
        {key.fingerprint: key for key in _keys(value, "ctlogs")},
    )
    if not root.logs:
        raise Refused(Reason.UNREADABLE, "it has no key of a signature log that Crossplane can use")
    return root


def _items(value: Any, key: str) -> list[Any]:
    found = dig(value, key)
    return found if isinstance(found, list) else []


def _certificate(value: Any) -> Certificate:
    return Certificate.from_der(unbase64(text_at(value, _WHAT, "rawBytes"), _WHAT))


def _keys(value: Any, name: str) -> Iterator[PublicKey]:
    for one in _items(value, name):
        data = unbase64(text_at(one, _WHAT, "publicKey", "rawBytes"), _WHAT)
        try:
            yield PublicKey.from_der(data)
        except Refused as error:
            # Newer logs have keys of a kind that Crossplane does not read.
            if error.reason is not Reason.UNSUPPORTED:
                raise
