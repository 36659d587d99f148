"""Rules and signatures → Crossplane's verdict on an image, and whether the signatures are good outside of Crossplane."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from render.references import Digest
from render.signatures.claims import SIGNED, predicate_uri
from render.signatures.crypto.keys import PublicKey
from render.signatures.found import Attached, Form, Found
from render.signatures.keyrings import Keyring
from render.signatures.proofs import Believed, Proof, prove
from render.signatures.refusals import Reason, Refused
from render.signatures.rules import HASHES, Authority, KeyRef, Rule
from render.signatures.trusted_root import TrustedRoot


class Verdict(StrEnum):
    """The answers to whether an image is accepted."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    # A key or a root of trust is missing.
    UNKNOWN = "not checked"


class Trouble(StrEnum):
    """The problems that an image can have with its rule."""

    UNSIGNED = "unsigned"
    UNREADABLE_BY_CROSSPLANE = "signature-unreadable-by-crossplane"
    NOT_LOGGED = "not-logged"
    NOT_ACCEPTED = "not-accepted"
    ATTESTATION_MISSING = "attestation-missing"
    NOT_CHECKED = "not-checked"
    NO_RULE = "no-rule"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a rule makes of an image."""

    verdict: Verdict
    # Whether the rule accepts a signature where logs and forms do not matter.
    outside: Verdict
    rule: str = ""
    authority: str = ""
    proofs: tuple[Proof, ...] = ()
    trouble: Trouble | None = None
    details: tuple[str, ...] = ()

    def with_details(self, more: Iterable[str]) -> "Judgement":
        """Return the same with more details."""
        return replace(self, details=(*self.details, *more))


@dataclass(frozen=True, slots=True)
class Judge:
    """What is known about the signers that rules name."""

    keyring: Keyring
    root: TrustedRoot | None

    def judge(self, rules: Sequence[Rule], found: Found, digest: Digest) -> Judgement:
        """Return the verdict on an image; of several rules for one prefix, any may be the one that counts."""
        if not rules:
            details = ("no ImageConfig with verification matches where it is pulled from",)
            return Judgement(Verdict.REFUSED, Verdict.UNKNOWN, trouble=Trouble.NO_RULE, details=details)
        judged = [self._judge(rule, found, digest) for rule in rules]
        return next((one for one in judged if one.verdict is not Verdict.ACCEPTED), judged[0])

    def _judge(self, rule: Rule, found: Found, digest: Digest) -> Judgement:
        if rule.broken:
            details = (f"ImageConfig {rule.name}: {rule.broken}",)
            return Judgement(
                Verdict.REFUSED, Verdict.REFUSED, rule.name, trouble=Trouble.NOT_ACCEPTED, details=details
            )
        if not rule.authorities:
            return Judgement(Verdict.ACCEPTED, Verdict.ACCEPTED, rule.name)
        tried = []
        for authority in rule.authorities:
            attempt = _try(authority, self, found, digest)
            if attempt.verdict is Verdict.ACCEPTED:
                return Judgement(
                    Verdict.ACCEPTED, Verdict.ACCEPTED, rule.name, authority.name, attempt.proofs
                )
            tried.append(attempt)
        return _refusal(rule, tried, found)

    def believed(self, authority: Authority) -> Believed:
        """Return whose signatures count for an authority; raise if its key cannot be used."""
        if authority.key is None:
            return Believed(identities=authority.identities, ignores_sct=authority.ignores_sct)
        return Believed(self._key(authority.key), authority.key.algorithm)

    def _key(self, ref: KeyRef) -> PublicKey:
        text = self.keyring.find(ref.secret)
        if text is None:
            several = "several Secrets have" if self.keyring.has_several(ref.secret) else "no Secret has"
            raise Refused(
                Reason.UNKNOWN, f"{several} the key {ref.secret}; name its file: --key {ref.secret}=FILE"
            )
        if ref.algorithm not in HASHES:
            raise Refused(Reason.UNSUPPORTED, f"the hash {ref.algorithm} is not known")
        try:
            return PublicKey.from_pem(text)
        except Refused as error:
            raise Refused(Reason.UNSUPPORTED, f"the key {ref.secret} cannot be used: {error.text}") from None


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What one authority makes of the signatures."""

    authority: Authority
    verdict: Verdict
    outside: Verdict
    proofs: tuple[Proof, ...] = ()
    refusals: tuple[Refused, ...] = ()
    # Predicate types that were found and not asked for.
    others: tuple[str, ...] = ()


def _try(authority: Authority, judge: Judge, found: Found, digest: Digest) -> _Attempt:
    legacy = found.of(Form.ATTESTATION if authority.predicates else Form.SIGNATURE)
    try:
        believed = judge.believed(authority)
    except Refused as error:
        # Without a signature, Crossplane refuses whatever the key is.
        unknown = error.reason is Reason.UNKNOWN and found.of(legacy_form(authority), Form.BUNDLE)
        verdict = Verdict.UNKNOWN if unknown else Verdict.REFUSED
        return _Attempt(authority, verdict, verdict, refusals=(error,))
    proofs, refusals = _prove_all(legacy, digest, believed, judge.root, logged=True)
    outside, _ = _prove_all([*legacy, *found.of(Form.BUNDLE)], digest, believed, judge.root, logged=False)
    fitting = tuple(one for one in proofs if _answers(authority, one, plain=""))
    others = tuple(dict.fromkeys(one.predicate for one in proofs if one not in fitting))
    good = any(_answers(authority, one, plain=SIGNED) for one in outside)
    verdict = _verdict(bool(fitting), refusals)
    return _Attempt(
        authority, verdict, Verdict.ACCEPTED if good else _verdict(False, refusals), fitting, refusals, others
    )


def legacy_form(authority: Authority) -> Form:
    """Return the only form that Crossplane looks at for an authority."""
    return Form.ATTESTATION if authority.predicates else Form.SIGNATURE


def _prove_all(
    attached: Sequence[Attached],
    digest: Digest,
    believed: Believed,
    root: TrustedRoot | None,
    *,
    logged: bool,
) -> tuple[list[Proof], tuple[Refused, ...]]:
    proofs, refusals = [], []
    for one in attached:
        try:
            proofs.append(prove(one, digest, believed, root, logged=logged))
        except Refused as error:
            refusals.append(error)
    return proofs, tuple(refusals)


def _answers(authority: Authority, proof: Proof, *, plain: str) -> bool:
    """Return whether a good signature is what an authority asks for; `plain` is what a bundle calls a signature."""
    if not authority.predicates:
        return proof.predicate in ("", plain)
    return proof.predicate != "" and proof.predicate in map(predicate_uri, authority.predicates)


def _verdict(accepted: bool, refusals: Sequence[Refused]) -> Verdict:
    if accepted:
        return Verdict.ACCEPTED
    unknown = any(one.reason is Reason.UNKNOWN for one in refusals)
    return Verdict.UNKNOWN if unknown else Verdict.REFUSED


def _refusal(rule: Rule, tried: Sequence[_Attempt], found: Found) -> Judgement:
    verdict = max((one.verdict for one in tried), key=_GRAVITY.index)
    outside = max((one.outside for one in tried), key=_OUTSIDE.index)
    details = tuple(dict.fromkeys(line for one in tried for line in _explain(one, found)))
    trouble = Trouble.NOT_CHECKED if verdict is Verdict.UNKNOWN else _trouble(tried, found, outside)
    return Judgement(verdict, outside, rule.name, trouble=trouble, details=(*details, *found.problems))


# What counts of several authorities: one that could not be tried might have accepted the image.
_GRAVITY = (Verdict.ACCEPTED, Verdict.REFUSED, Verdict.UNKNOWN)
_OUTSIDE = (Verdict.REFUSED, Verdict.UNKNOWN, Verdict.ACCEPTED)


def _trouble(tried: Sequence[_Attempt], found: Found, outside: Verdict) -> Trouble:
    reasons = {refusal.reason for one in tried for refusal in one.refusals}
    if Reason.NOT_LOGGED in reasons:
        return Trouble.NOT_LOGGED
    if outside is Verdict.ACCEPTED:
        return Trouble.UNREADABLE_BY_CROSSPLANE
    if not found.attached and not found.problems:
        return Trouble.UNSIGNED
    lacking = all(one.authority.predicates and not one.refusals for one in tried)
    return Trouble.ATTESTATION_MISSING if lacking else Trouble.NOT_ACCEPTED


def _explain(one: _Attempt, found: Found) -> Iterator[str]:
    name = f"authority {one.authority.name}"
    for refusal in one.refusals:
        yield f"{name}: {refusal.text}"
    if one.others:
        yield f"{name}: the attestations are of type {', '.join(one.others)}"
    elif not found.of(legacy_form(one.authority)) and not one.refusals:
        what = "attestation" if one.authority.predicates else "signature"
        yield f"{name}: no {what} is where Crossplane looks for it"
    if one.outside is Verdict.ACCEPTED and found.of(Form.BUNDLE) and not one.refusals:
        yield _ADVICE


_ADVICE = (
    "the good signature is a bundle, and Crossplane up to v2.4 reads tags only: "
    "cosign sign --new-bundle-format=false --use-signing-config=false"
)
