"""xplock lock with a policy about signers and proven times: what cosign attached decides which version is locked."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from rig.builders.projects import HOME, World, at, locked, text_of
from rig.commands.run import Outcome, run_command
from rig.signatures.cosigned import PROVENANCE, Signing
from rig.signatures.layouts import attach_to_layout
from rig.signatures.sigstore import ISSUER, NOW, SUBJECT, Sigstore, fingerprint, new_key, public_pem

from render.app.operator_settings import OperatorSettings
from render.app.reporter import SilentReporter
from render.app.resolving.resolver import Resolver
from render.limits import Limits
from render.lock.model import LockedPackage
from render.lock.text.file import read_lock
from render.references import Reference, parse_source
from render.registry.layout import Layout
from render.signatures.found import Attached
from render.system.files import LOCK_FILE

SIGSTORE = Sigstore()
KEY = new_key()
BY_KEY = Signing(SIGSTORE, KEY)
BY_CERTIFICATE = Signing(SIGSTORE, KEY, SIGSTORE.certify(KEY))
STRANGER = Signing(SIGSTORE, new_key())
OF_SUBJECT = f"{{issuer: {ISSUER}, subject: '{SUBJECT.partition('@')[0]}@*'}}"
OF_FINGERPRINT = f"{{key: 'sha256:{fingerprint(KEY)}'}}"
OF_KEY = f"{{key: {public_pem(KEY)!r}}}".replace("'", '"')


def signed_by(*signers: str, **more: str) -> str:
    options = "".join(f", {key}: {text}" for key, text in more.items())
    return f"policy: {{provenance: {{signers: [{', '.join(signers)}]{options}}}}}\n"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A tool with two versions; nothing is signed yet."""
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    world.publish("tool v1.0.0")
    world.publish("tool v1.1.0")
    (tmp_path / "root.json").write_bytes(SIGSTORE.trusted_root())
    return world


def digest_of(world: World, version: str) -> str:
    layout = Layout(world.layout, Limits())
    return layout.content(Reference(parse_source(at("tool")), version)).digest


def attach(world: World, version: str, *attached: Attached) -> None:
    layout = Layout(world.layout, Limits())
    digest = layout.content(Reference(parse_source(at("tool")), version)).digest
    attach_to_layout(layout, parse_source(at("tool")), digest, attached)


def lock(folder: Path, *options: str, root: bool = True) -> Outcome:
    environ = {"XPLOCK_TRUSTED_ROOT": str(folder.parent / "root.json")} if root else {}
    return run_command("lock", *options, folder.name, environ=environ)


def package(folder: Path) -> LockedPackage:
    found = read_lock(folder, Limits())
    assert found
    return found.packages[parse_source(at("tool"))]


@pytest.mark.parametrize(
    ("signer", "signing", "name"),
    [
        (OF_SUBJECT, BY_CERTIFICATE, f"{ISSUER} {SUBJECT}"),
        (OF_FINGERPRINT, BY_KEY, f"sha256:{fingerprint(KEY)}"),
        (OF_KEY, BY_KEY, f"sha256:{fingerprint(KEY)}"),
        (OF_KEY, BY_KEY.without_log(), f"sha256:{fingerprint(KEY)}"),
    ],
    ids=["certificate", "fingerprint", "key", "key without log"],
)
@pytest.mark.parametrize("form", ["signature", "bundle"])
def test_the_newest_version_that_a_known_signer_signed_is_locked(
    signer: str, signing: Signing, name: str, form: str, world: World
) -> None:
    digest = digest_of(world, "v1.0.0")
    attach(world, "v1.0.0", signing.sign(digest) if form == "signature" else signing.bundle(digest))
    attach(world, "v1.1.0", STRANGER.sign(digest_of(world, "v1.1.0")))
    project = world.project("shop", "tool", more=signed_by(signer))

    done = lock(project)

    assert done.code == 0, done.stderr
    assert locked(project) == {"tool": "v1.0.0"}
    assert package(project).signed_by == (name,)
    assert f"{HOME}/tool stays below v1.1.0: {HOME}/tool v1.1.0 is not signed by a signer" in done.stderr
    assert lock(project, "--check").code == 0


def test_an_error_names_who_signed_instead(world: World) -> None:
    for version in ("v1.0.0", "v1.1.0"):
        attach(world, version, STRANGER.sign(digest_of(world, version)))
    project = world.project("shop", "tool", more=signed_by(OF_SUBJECT))

    done = lock(project)

    done.assert_refused(
        4,
        f"{HOME}/tool v1.1.0 is not signed by a signer that is allowed; it has a signature by sha256:",
        "allow its signer in policy.provenance.signers of xplock.yaml, if you trust it",
        "rule: provenance, reason: …",
    )


@pytest.mark.parametrize("attached", ["nothing", "for another image", "changed"])
def test_what_is_not_signed_or_not_well_is_refused(attached: str, world: World) -> None:
    digest = digest_of(world, "v1.1.0")
    if attached == "for another image":
        attach(world, "v1.1.0", BY_KEY.sign(digest_of(world, "v1.0.0")))
    if attached == "changed":
        good = BY_KEY.sign(digest)
        attach(
            world,
            "v1.1.0",
            Attached(good.form, good.data.replace(b'"optional"', b'"optionaL"'), good.annotations),
        )
    project = world.project("shop", "tool:v1.1.0", more=signed_by(OF_KEY))

    lock(project).assert_refused(4, "is not signed by a signer that is allowed")


@pytest.mark.parametrize(
    ("more", "predicate", "code"),
    [
        ({}, PROVENANCE, 0),
        ({"predicates": "[slsaprovenance1]"}, PROVENANCE, 0),
        ({"predicates": "[spdx]"}, PROVENANCE, 4),
        ({"predicates": "[spdx, https://example.org/own]"}, "https://example.org/own", 0),
    ],
)
def test_attestations_count_by_their_type(
    more: dict[str, str], predicate: str, code: int, world: World
) -> None:
    digest = digest_of(world, "v1.1.0")
    attach(world, "v1.1.0", BY_CERTIFICATE.attest(digest, predicate))
    policy = signed_by(OF_SUBJECT, require="attestation", **more)
    project = world.project("shop", "tool:v1.1.0", more=policy)

    assert lock(project).code == code


def test_an_attestation_is_no_signature_and_a_signature_is_no_attestation(world: World) -> None:
    digest = digest_of(world, "v1.1.0")
    attach(world, "v1.1.0", BY_CERTIFICATE.attest(digest))
    attach(world, "v1.0.0", BY_CERTIFICATE.sign(digest_of(world, "v1.0.0")))

    assert lock(world.project("one", "tool:v1.1.0", more=signed_by(OF_SUBJECT))).code == 4
    assert (
        lock(world.project("two", "tool:v1.0.0", more=signed_by(OF_SUBJECT, require="attestation"))).code == 4
    )


def test_a_lock_says_what_was_signed_and_what_was_attested(world: World, tmp_path: Path) -> None:
    digest = digest_of(world, "v1.1.0")
    attach(world, "v1.1.0", BY_CERTIFICATE.sign(digest), BY_CERTIFICATE.attest(digest))
    operator = tmp_path / "operator.yaml"
    project = world.project("shop", "tool:v1.1.0", more=signed_by(OF_SUBJECT))
    assert lock(project).code == 0
    operator.write_text(signed_by(OF_SUBJECT, require="attestation"))

    # A signature by the same signer is no attestation.
    run_command("render", "--policy", str(operator), "shop").assert_refused(
        4, f"is not attested by a signer that is allowed; it has a signature by {ISSUER} {SUBJECT} ("
    )
    assert lock(project, "--policy", str(operator)).code == 0

    assert package(project).signed_by == (f"{ISSUER} {SUBJECT}",)
    assert package(project).attested_by == (f"{PROVENANCE} by {ISSUER} {SUBJECT}",)
    assert run_command("render", "--policy", str(operator), "shop").code == 0
    operator.write_text(signed_by(OF_SUBJECT, require="attestation", predicates="[spdx]"))
    assert run_command("check", "--policy", str(operator), "shop").code == 4
    assert lock(project, "--check", "--offline", "--policy", str(operator)).code == 4


def test_what_is_locked_is_thrown_out_if_its_signer_is_not_allowed_any_more(world: World) -> None:
    attach(world, "v1.0.0", BY_CERTIFICATE.sign(digest_of(world, "v1.0.0")))
    attach(world, "v1.1.0", STRANGER.sign(digest_of(world, "v1.1.0")))
    project = world.project("shop", "tool")
    assert lock(project).code == 0
    assert locked(project) == {"tool": "v1.1.0"}
    world.project("shop", "tool", more=signed_by(OF_SUBJECT))

    done = lock(project)

    assert locked(project) == {"tool": "v1.0.0"}
    assert f"{HOME}/tool changes from v1.1.0 to v1.0.0: " in done.stderr


@pytest.mark.parametrize(("signing", "code"), [(BY_KEY, 0), (STRANGER, 4)], ids=["known", "stranger"])
def test_what_is_leaving_has_to_be_signed_for_an_operator(
    signing: Signing, code: int, world: World, tmp_path: Path
) -> None:
    world.publish("other v1.0.0")
    attach(world, "v1.1.0", signing.sign(digest_of(world, "v1.1.0")))
    project = world.project("shop", "other", "tool")
    assert lock(project).code == 0
    world.project("shop", "other")
    assert lock(project).code == 0
    excepted = f"exceptions: [{{source: {at('other')}, rule: provenance, reason: our own}}]"
    operator = tmp_path / "operator.yaml"
    operator.write_text(signed_by(OF_KEY).replace("policy: {", f"policy: {{{excepted}, "))
    environ = {"XPLOCK_POLICY": str(operator)}

    assert run_command("lock", project.name, environ=environ).code == 0
    done = run_command("render", project.name, environ=environ)

    assert package(project).signed_by == ((f"sha256:{fingerprint(KEY)}",) if code == 0 else ())
    assert done.code == code
    assert ("is not signed by a signer that is allowed" in done.stderr) is bool(code)


def test_a_changed_signer_shows_in_the_report_and_in_diff(world: World) -> None:
    attach(world, "v1.0.0", BY_KEY.sign(digest_of(world, "v1.0.0")))
    attach(world, "v1.1.0", BY_CERTIFICATE.sign(digest_of(world, "v1.1.0")))
    policy = signed_by(OF_SUBJECT, OF_FINGERPRINT)
    project = world.project("shop", "tool:v1.0.0", more=policy)
    assert lock(project).code == 0
    before = project / "before.lock"
    before.write_bytes(text_of(project))
    world.project("shop", "tool:v1.1.0", more=policy)

    done = lock(project)

    told = " ".join(done.stdout.split())
    assert f"- sha256:{fingerprint(KEY)}" in told
    assert f"+ {ISSUER} {SUBJECT}" in told
    compared = run_command("diff", str(before), str(project / LOCK_FILE))
    assert f"{ISSUER} {SUBJECT}" in compared.stdout


def test_another_signature_of_the_same_bytes_changes_no_lock(world: World) -> None:
    digest = digest_of(world, "v1.1.0")
    attach(world, "v1.1.0", BY_KEY.sign(digest))
    project = world.project("shop", "tool", more=signed_by(OF_SUBJECT, OF_FINGERPRINT))
    assert lock(project).code == 0
    before = text_of(project)
    attach(world, "v1.1.0", BY_KEY.sign(digest), BY_CERTIFICATE.bundle(digest))

    assert lock(project, "--check").code == 0
    assert text_of(project) == before


def test_offline_the_signers_of_a_lock_are_those_that_it_names(world: World) -> None:
    attach(world, "v1.1.0", BY_KEY.sign(digest_of(world, "v1.1.0")))
    project = world.project("shop", "tool", more=signed_by(OF_FINGERPRINT))
    assert lock(project).code == 0

    assert lock(project, "--check", "--offline").code == 0
    (project / LOCK_FILE).write_bytes(text_of(project).replace(fingerprint(KEY).encode(), b"0" * 64))
    lock(project, "--offline").assert_refused(4, "is not signed by a signer that is allowed")
    assert run_command("check", "shop").code == 4


def test_a_file_with_roots_is_asked_for_where_it_is_needed(world: World) -> None:
    attach(world, "v1.1.0", BY_KEY.without_log().sign(digest_of(world, "v1.1.0")))

    for policy in (
        signed_by(OF_SUBJECT),
        signed_by(OF_FINGERPRINT),
        "policy: {age: {minimum: 7d, times: proven}}\n",
    ):
        lock(world.project("shop", "tool", more=policy), root=False).assert_refused(2, "--trusted-root FILE")
    assert lock(world.project("shop", "tool", more=signed_by(OF_KEY)), root=False).code == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{signers: []}", "signers: it is empty"),
        (
            "{signers: [{issuer: https://x.example}]}",
            "signers[0]: expected a key, or an issuer and a subject",
        ),
        ("{signers: [{key: 'sha256:12'}]}", "signers[0].key: it is not in PEM form"),
        ("{}", "signers: it is missing"),
        (f"{{signers: [{OF_SUBJECT}], predicates: [spdx]}}", "write require: attestation"),
    ],
)
def test_a_rule_that_names_no_signer_is_an_error(text: str, told: str, world: World) -> None:
    project = world.project("shop", "tool", more=f"policy: {{provenance: {text}}}\n")

    lock(project).assert_refused(2, f"policy.provenance.{told}" if not told.startswith("write") else told)


# Proven times

PROVEN = "policy: {age: {minimum: 7d, times: proven}}\n"


def resolve(world: World, folder: Path, now: datetime) -> dict[str, str]:
    environ = {"XPLOCK_CACHE_DIR": "", "XPLOCK_TRUSTED_ROOT": str(world.folder / "root.json")}
    operator = OperatorSettings.from_environment(environ)
    found = Resolver(operator, SilentReporter(), clock=lambda: now).resolve(folder)
    (folder / LOCK_FILE).write_bytes(found.text)
    return {source.name: one.version for source, one in found.after.packages.items()}


def test_a_proven_time_is_that_of_the_earliest_good_log_entry(world: World) -> None:
    for version, second in (("v1.0.0", NOW + 60), ("v1.1.0", NOW + 120)):
        digest = digest_of(world, version)
        later = Signing(SIGSTORE, KEY, at=second + 300)
        attach(world, version, later.sign(digest), Signing(SIGSTORE, KEY, at=second).sign(digest))
    project = world.project("shop", "tool", more=PROVEN)
    enough = datetime.fromtimestamp(NOW + 60, UTC) + timedelta(7)

    assert resolve(world, project, enough) == {"tool": "v1.0.0"}
    assert package(project).released_at == "2025-06-15T15:07:40Z proven"
    (project / LOCK_FILE).unlink()
    assert resolve(world, project, enough + timedelta(seconds=60)) == {"tool": "v1.1.0"}


def test_without_a_log_entry_the_time_is_unknown_and_the_error_has_the_way_out(world: World) -> None:
    attach(world, "v1.1.0", BY_KEY.without_log().sign(digest_of(world, "v1.1.0")))
    world.publish("dated v1.0.0", created="2020-01-01T00:00:00Z")
    project = world.project("shop", "tool:v1.1.0", "dated", more=PROVEN)

    lock(project).assert_refused(
        4, "no signature log that is known proves when", "times: claimed", "exempt: [xpkg.example.org/acme/]"
    )


def test_an_entry_of_a_log_that_is_not_known_proves_nothing(world: World) -> None:
    attach(world, "v1.1.0", Signing(Sigstore(), KEY).sign(digest_of(world, "v1.1.0")))
    project = world.project("shop", "tool:v1.1.0", more=PROVEN)

    lock(project).assert_refused(4, "no signature log that is known proves when")
