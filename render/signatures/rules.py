"""Rules: the part of an ImageConfig that says whose signatures count."""

from render.lean import Any, dataclass
from render.signatures.keyrings import SecretKey

HASHES = ("sha224", "sha256", "sha384", "sha512")


@dataclass(frozen=True, slots=True)
class Identity:
    """A signer as a rule describes it; an expression counts more than a plain text beside it."""

    issuer: str = ""
    subject: str = ""
    issuer_expression: str = ""
    subject_expression: str = ""


@dataclass(frozen=True, slots=True)
class KeyRef:
    """A key in a Secret, and the hash that its signatures are over."""

    secret: SecretKey
    # Crossplane's default comes with its CRD.
    algorithm: str = "sha256"


@dataclass(frozen=True, slots=True)
class Authority:
    """One way to be accepted: by a key, or else by a certificate of one of some identities."""

    name: str
    key: KeyRef | None = None
    # None: any identity is accepted.
    identities: tuple[Identity, ...] = ()
    ignores_sct: bool = False
    # Predicate types, of which one has to be attested; without any, a plain signature is needed.
    predicates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """The verification in one ImageConfig."""

    name: str
    authorities: tuple[Authority, ...]
    # Why Crossplane refuses every image that it matches; empty for a good rule.
    broken: str = ""


def parse_rule(name: str, verification: Any) -> Rule:
    """Return the rule in `spec.verification`, as Crossplane reads it."""
    cosign = _mapping(verification).get("cosign")
    if _mapping(verification).get("provider") != "Cosign":
        return Rule(name, (), "its provider is not Cosign")
    if not isinstance(cosign, dict):
        return Rule(name, (), "it has no cosign")
    return Rule(name, tuple(_authority(one) for one in _mappings(cosign.get("authorities"))))


def _authority(value: "dict[str, Any]") -> Authority:
    keyless = _mapping(value.get("keyless"))
    return Authority(
        _text(value, "name"),
        _key(value["key"]) if isinstance(value.get("key"), dict) else None,
        tuple(_identity(one) for one in _mappings(keyless.get("identities"))),
        keyless.get("insecureIgnoreSCT") is True,
        tuple(_text(one, "predicateType") for one in _mappings(value.get("attestations"))),
    )


def _key(value: "dict[str, Any]") -> KeyRef:
    secret = _mapping(value.get("secretRef"))
    algorithm = _text(value, "hashAlgorithm") or "sha256"
    return KeyRef(SecretKey(_text(secret, "name"), _text(secret, "key")), algorithm.strip().lower())


def _identity(value: "dict[str, Any]") -> Identity:
    keys = ("issuer", "subject", "issuerRegExp", "subjectRegExp")
    return Identity(*(_text(value, key) for key in keys))


def _mappings(value: Any) -> "list[dict[str, Any]]":
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _mapping(value: Any) -> "dict[str, Any]":
    return value if isinstance(value, dict) else {}


def _text(value: "dict[str, Any]", key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""
