"""Signers are named with the earliest time that a log proves, and only those whose signatures are good."""

from dataclasses import replace

from rig.signatures.cosigned import PROVENANCE, Signing
from rig.signatures.sigstore import ISSUER, NOW, SUBJECT, Sigstore, fingerprint, new_key, public_pem

from render.references import Digest
from render.signatures.crypto.keys import PublicKey
from render.signatures.found import Found
from render.signatures.signers import Signer, find_signers
from render.signatures.trusted_root import parse_trusted_root

IMAGE = Digest("sha256:" + "ab" * 32)
SIGSTORE = Sigstore()
ROOT = parse_trusted_root(SIGSTORE.trusted_root())
KEY = new_key()
BY_KEY = Signing(SIGSTORE, KEY)
BY_CERTIFICATE = Signing(SIGSTORE, KEY, SIGSTORE.certify(KEY))


def test_a_certificate_and_a_logged_key_prove_themselves() -> None:
    found = Found((BY_KEY.sign(IMAGE), BY_CERTIFICATE.sign(IMAGE)))

    signers = find_signers(found, IMAGE, ROOT)

    assert set(signers) == {
        Signer(key=fingerprint(KEY), since=NOW + 60),
        Signer(issuer=ISSUER, subject=SUBJECT, since=NOW + 60),
    }
    assert {str(one) for one in signers} == {f"sha256:{fingerprint(KEY)}", f"{ISSUER} {SUBJECT}"}


def test_each_name_in_a_certificate_is_a_signer_of_its_own() -> None:
    # Joined, the two would fit patterns that neither of them fits.
    certificate = SIGSTORE.certify(KEY, subject="https://a.example/x", others=["y@b.example"])

    signers = find_signers(Found((Signing(SIGSTORE, KEY, certificate).sign(IMAGE),)), IMAGE, ROOT)

    assert [str(one) for one in signers] == [f"{ISSUER} https://a.example/x", f"{ISSUER} y@b.example"]


def test_of_several_times_the_earliest_counts() -> None:
    times = [NOW + 300, NOW + 30, NOW + 200]

    found = Found(tuple(replace(BY_CERTIFICATE, at=at).sign(IMAGE) for at in times))

    assert [one.since for one in find_signers(found, IMAGE, ROOT)] == [NOW + 30]


def test_bundles_prove_time_as_well() -> None:
    (signer,) = find_signers(Found((BY_CERTIFICATE.bundle(IMAGE, PROVENANCE),)), IMAGE, ROOT)

    assert (signer.predicate, signer.since) == (PROVENANCE, NOW + 60)


def test_a_key_without_a_log_is_a_signer_if_it_is_known_and_has_no_time() -> None:
    found = Found((BY_KEY.without_log().sign(IMAGE),))

    assert find_signers(found, IMAGE, ROOT) == ()
    assert find_signers(found, IMAGE, None, [PublicKey.from_pem(public_pem(KEY))]) == (
        Signer(key=fingerprint(KEY)),
    )


def test_a_signature_of_another_image_names_no_signer() -> None:
    assert find_signers(Found((BY_KEY.sign("sha256:" + "cd" * 32),)), IMAGE, ROOT) == ()


def test_a_log_that_is_not_known_proves_nothing() -> None:
    stranger = replace(SIGSTORE, signature_log=new_key())

    assert find_signers(Found((Signing(stranger, KEY).sign(IMAGE),)), IMAGE, ROOT) == ()
