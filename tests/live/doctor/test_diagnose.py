"""What is stuck in a cluster: one test for each state, and what holds for all of them."""

import random
import re
import shlex
from collections.abc import Sequence

import pytest
from rig.builders.live_objects import Object, Running, live_objects
from rig.builders.locks import package as locked
from rig.builders.projects import at
from rig.builders.stuck import (
    CRD,
    DIGEST,
    OTHER,
    STATES,
    changed,
    controlled,
    definition,
    diagnosed,
    lock_of,
    missing,
    not_pulled,
    poisoned,
    provider,
    says,
    two_owners,
    unhealthy,
    with_kinds,
)

from render.live.doctor.model import Diagnosis, Finding, State
from render.lock.model import Lock, LockedPackage
from render.views.doctor.document import diagnosis_document
from render.views.doctor.text import format_diagnosis


def lock(*packages: LockedPackage) -> Lock:
    return Lock({one.source: one for one in packages})


NOTES = {State.NEVER_APPLIED, State.INACTIVE_KINDS, State.CONVERSION}
# Two findings: the cause, and what it means for definitions.
WITH_MORE = {"conversion-webhook": ["runtime", "conversion-webhook"]}


def states(diagnosis: Diagnosis) -> list[str]:
    return [finding.state.value for finding in diagnosis.findings]


def only(diagnosis: Diagnosis) -> Finding:
    [finding] = diagnosis.findings
    return finding


def test_every_state_has_a_cluster() -> None:
    assert {*STATES} == {state.value for state in State}
    assert [state.number for state in State][:26] == [*range(1, 27)]


@pytest.mark.parametrize("name", STATES)
def test_a_state_is_recognised(name: str) -> None:
    found = diagnosed(STATES[name]())

    assert states(found) == WITH_MORE.get(name, [name])
    assert all(finding.is_stuck is (finding.state not in NOTES) for finding in found.findings)


@pytest.mark.parametrize("name", STATES)
def test_the_order_of_the_objects_changes_nothing(name: str) -> None:
    objects = list(STATES[name]())
    expected = diagnosis_document(diagnosed(objects))

    for seed in range(5):
        random.Random(seed).shuffle(objects)

        assert diagnosis_document(diagnosed(objects)) == expected


@pytest.mark.parametrize("name", STATES)
def test_every_finding_says_why_and_what_to_touch(name: str) -> None:
    for finding in diagnosed(STATES[name]()).findings:
        assert finding.what
        assert finding.why
        if finding.state not in (State.FOLLOWS, State.UNKNOWN):
            assert finding.touch
            assert finding.run
            assert finding.care or finding.then


@pytest.mark.parametrize("name", STATES)
def test_every_command_is_one_of_kubectl_that_deletes_no_definition(name: str) -> None:
    for finding in diagnosed(STATES[name]()).findings:
        for command in finding.run:
            for part in command.split(" | "):
                assert shlex.split(part)[0] == "kubectl"
            assert not re.search(r"kubectl delete (crd|customresource|managedresource)", command)


def test_what_is_well_is_not_found() -> None:
    app, base = Running("app v1.0.0", needs={"base": "*"}), Running("base v1.0.0")

    found = diagnosed(live_objects([app, base]))

    assert not found.findings
    assert (found.packages, found.revisions) == (2, 2)


# The Lock


def test_a_poisoned_lock_is_one_finding_of_a_screen_for_27_packages() -> None:
    objects = poisoned()
    text = objects[1]["status"]["conditions"][-1]["message"].partition("with message: ")[2]
    others = [provider(f"more-{i} v1.0.0") for i in range(22)]
    objects += [made for one in others for made in unhealthy(one, text)]

    found = diagnosed(objects)

    assert states(found) == ["poisoned-lock"]
    assert len(only(found).consequences) == 25
    assert len(format_diagnosis(found).splitlines()) < 15
    assert "25 more packages wait for this and recover by themselves" in format_diagnosis(found)


def test_of_two_copies_the_one_that_installed_nothing_is_switched_off() -> None:
    finding = only(diagnosed(poisoned()))

    assert finding.touch == ("Provider", "acme-net")
    assert finding.run[0] == (
        "kubectl patch provider.pkg acme-net --type merge "
        """-p '{"spec":{"revisionActivationPolicy":"Manual","skipDependencyResolution":true}}'"""
    )
    assert "do not delete Provider/net" in finding.care


def test_of_two_copies_that_both_installed_something_the_one_that_controls_nothing_is_switched_off() -> None:
    mine, derived = both_installed()

    told = only(diagnosed([*pair(mine, derived), definition(owner=mine.revision, uid="x")]))
    unknown = only(diagnosed(pair(mine, derived)))

    assert told.touch == ("Provider", "acme-net")
    assert unknown.touch is None
    assert "give the definitions" in unknown.care


def both_installed() -> tuple[Running, Running]:
    return provider("net v1.0.0", name="net", objects=[CRD]), provider(
        "net v1.0.0", digest="e" * 64, objects=[CRD]
    )


def pair(mine: Running, derived: Running) -> list[Object]:
    text = (
        f"cannot initialize dependency graph from the packages in the lock: node {at('net')} already exists"
    )
    both = (mine, derived)
    return [
        lock_of(*(one.as_entry() for one in both)),
        *(made for one in both for made in unhealthy(one, text)),
    ]


def test_where_neither_installed_anything_the_name_in_the_lock_of_the_folder_stays() -> None:
    mine, derived = provider("net v1.0.0", name="net"), provider("net v1.0.0", digest="e" * 64)
    ours = [lock(locked("net v1.0.0", object_name=name)) for name in ("net", "acme-net")]

    touched = [only(diagnosed(pair(mine, derived), ours=one)).touch for one in ours]

    assert touched == [("Provider", "acme-net"), ("Provider", "net")]


@pytest.mark.parametrize("name", ["net", "a-net"])
def test_where_neither_installed_anything_the_name_of_the_users_stays(name: str) -> None:
    mine, derived = provider("net v1.0.0", name=name), provider("net v1.0.0", digest="e" * 64)

    assert only(diagnosed(pair(mine, derived))).touch == ("Provider", "acme-net")


def test_a_name_in_the_lock_of_the_folder_that_has_to_go_is_said() -> None:
    ours = lock(locked("net v1.0.0", object_name="acme-net"))

    finding = only(diagnosed(poisoned(), ours=ours))

    assert finding.touch == ("Provider", "acme-net")
    assert "the lock of the folder has the name acme-net" in finding.then


def test_a_wrong_package_that_has_installed_something_is_not_deleted() -> None:
    objects = [*STATES["wrong-content"]()]
    revision = next(one for one in objects if one["kind"] == "ProviderRevision")
    refs = changed(revision, status_objectRefs=[{"kind": "CustomResourceDefinition", "name": CRD}])

    run = only(diagnosed([refs if one is revision else one for one in objects])).run

    assert not [command for command in run if " delete " in command]


def test_from_v2_4_on_one_command_switches_a_copy_off() -> None:
    assert len(only(diagnosed(poisoned(), crossplane="v2.4.0")).run) == 1


def test_a_condition_that_only_new_releases_write_tells_the_version() -> None:
    objects = [*poisoned()]
    objects[2] = says(objects[2], "", type="RuntimeActive", status="True")

    assert len(only(diagnosed(objects, crossplane="")).run) == 1


def test_a_copy_without_a_revision_is_taken_out_of_the_lock() -> None:
    net = provider("net v1.0.0")
    ghost = {**net.as_entry(), "name": "gone-0123456789ab"}

    finding = only(diagnosed([lock_of(net.as_entry(), ghost), *net.objects_of_it()]))

    assert finding.touch == ("Lock", "lock")
    assert '"path":"/packages/1/name","value":"gone-0123456789ab"' in finding.run[0]


def test_two_revisions_of_one_package_are_an_upgrade_that_has_not_ended() -> None:
    net = provider("net v1.0.0")
    new = changed(provider("net v1.1.0", digest="e" * 64).as_revision(), spec_revision=2)
    entry = {**net.as_entry(), "name": "acme-net-eeeeeeeeeeee", "version": "v1.1.0"}

    finding = only(diagnosed([lock_of(net.as_entry(), entry), *net.objects_of_it(), new]))

    assert finding.state is State.POISONED
    assert finding.touch == ("ProviderRevision", net.revision)
    assert "wait a minute" in finding.care


@pytest.mark.parametrize(
    "fields",
    [{"spec_desiredState": "Inactive"}, {"spec_skipDependencyResolution": True}],
    ids=["inactive", "skips"],
)
def test_an_entry_that_its_revision_does_not_keep_is_stale(fields: dict[str, object]) -> None:
    app = Running("app v1.0.0", needs={"net": "*"})
    objects = [lock_of(app.as_entry()), app.as_package(), changed(app.as_revision(), **fields)]

    finding = only(diagnosed(objects))

    assert finding.state is State.STALE
    assert f"it names {at('net')}" in finding.why[1]


def test_a_stale_entry_that_harms_nothing_is_a_note() -> None:
    net = provider("net v1.0.0")

    found = diagnosed([lock_of(net.as_entry()), *provider("other v1.0.0", attached=False).objects_of_it()])

    assert states(found) == ["stale-entry"]
    assert not found.stuck


# Causes that hold others up


def test_what_waits_for_a_package_that_cannot_be_pulled_is_its_consequence() -> None:
    finding = only(diagnosed(not_pulled()))

    assert finding.touch == ("Provider", "acme-net")
    assert finding.consequences == [("Configuration", "acme-app")]
    assert any("does not have it" in line for line in finding.why)


def test_everything_behind_the_first_missing_dependency_is_its_consequence() -> None:
    objects = not_pulled()
    late = Running("late v1.0.0", needs={"other": "*"})
    objects[0]["packages"].append(with_kinds(late.as_entry(), "Provider"))
    objects += unhealthy(late, missing("other"))

    assert only(diagnosed(objects)).consequences == [
        ("Configuration", "acme-app"),
        ("Configuration", "acme-late"),
    ]


def upgrade(message: str, **condition: str) -> list[Object]:
    """Return a package whose new version is in trouble while the earlier revision is well."""
    net = provider("net v1.0.0")
    package = changed(net.as_package(), spec_package=f"{at('net')}:v2.0.0")
    return [lock_of(net.as_entry()), says(package, message, **condition), net.as_revision()]


def test_a_version_that_cannot_be_pulled_goes_back_to_the_one_that_runs() -> None:
    objects = upgrade("cannot unpack package: MANIFEST_UNKNOWN", type="Installed", reason="UnpackingPackage")

    finding = only(diagnosed(objects))

    assert finding.run == (
        f"""kubectl patch provider.pkg acme-net --type merge -p '{{"spec":{{"package":"{at("net")}:v1.0.0"}}}}'""",
    )


def test_a_version_that_does_not_accept_crossplane_goes_back_to_the_one_before() -> None:
    finding = only(diagnosed(upgrade("incompatible Crossplane version: package isn't compatible")))

    assert f'"package":"{at("net")}:v1.0.0"' in finding.run[0]


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        ("401 Unauthorized", "credentials"),
        ("x509: certificate signed by unknown authority", "CA bundle"),
        ("dial tcp: lookup xpkg.example.org: no such host", "cannot be reached"),
        ("cannot parse package reference", "no reference"),
    ],
)
def test_what_the_registry_said_is_explained(said: str, meaning: str) -> None:
    objects = upgrade(f"cannot unpack package: {said}", type="Installed", reason="UnpackingPackage")

    assert meaning in only(diagnosed(objects)).why[1]


def test_detaching_takes_everything_along_that_depends_on_it() -> None:
    objects = [*STATES["name-taken"]()]
    site = Running("site v1.0.0", needs={"app": "*"})
    objects[0]["packages"].append(site.as_entry())
    objects += unhealthy(site, missing("base"))

    old, new = only(diagnosed(objects)).run, only(diagnosed(objects, crossplane="v2.4.0")).run

    assert [line.split()[3] for line in new] == ["acme-app", "acme-site"]
    assert len(old) == 5
    # From the end, so that no place changes before its turn.
    assert old[-1].index("/packages/2") < old[-1].index("/packages/1")


def test_a_dependant_of_a_dependency_that_nothing_fits_goes_back_to_its_earlier_version() -> None:
    objects = [*STATES["nothing-fits"]()]
    older = changed(
        Running("app v0.9.0", digest="a" * 64).as_revision(), spec_desiredState="Inactive", spec_revision=0
    )

    finding = only(diagnosed([*objects, older]))

    assert finding.run == (
        f"""kubectl patch configuration.pkg acme-app --type merge -p '{{"spec":{{"package":"{at("app")}:v0.9.0"}}}}'""",
    )


def test_the_version_of_the_lock_comes_first_where_versions_do_not_agree() -> None:
    ours = lock(locked("base v1.7.0"))

    finding = only(diagnosed(STATES["wrong-version"](), ours=ours))

    assert f'"package":"{at("base")}:v1.7.0"' in finding.run[0]


def test_with_the_lock_a_digest_becomes_a_tag_again() -> None:
    ours = lock(locked("base v1.0.0"))

    finding = only(diagnosed(STATES["digest-under-semver"](), ours=ours))

    assert f'"package":"{at("base")}:v1.0.0"' in finding.run[0]
    assert DIGEST in finding.why[0]


# Control, by who holds it


def test_of_two_packages_with_one_object_the_one_that_controls_nothing_is_switched_off() -> None:
    finding = only(diagnosed(two_owners()))

    assert finding.touch == ("Provider", "labs-net")
    assert f"({at('net')}) installs the same" in finding.why[1]
    assert "do not delete Provider/acme-net" in finding.care


@pytest.mark.parametrize(("state", "verb"), [("Active", "patch"), ("Inactive", "delete")])
def test_an_earlier_revision_that_controls_an_object_has_to_give_it_up(state: str, verb: str) -> None:
    new = provider("net v2.0.0", digest="e" * 64)
    old = provider("net v1.0.0")
    holder = changed(old.as_revision(), spec_desiredState=state)
    revision = changed(
        says(new.as_revision(), controlled(old.revision, f"uid-ProviderRevision-{old.revision}")),
        spec_revision=2,
    )

    finding = only(diagnosed([lock_of(new.as_entry()), new.as_package(), holder, revision]))

    assert finding.touch == ("ProviderRevision", old.revision)
    assert finding.run[0].startswith(f"kubectl {verb} providerrevision.pkg {old.revision}")


def test_an_inactive_revision_that_alone_owns_a_definition_is_not_deleted() -> None:
    new, old = provider("net v2.0.0", digest="e" * 64), provider("net v1.0.0")
    uid = f"uid-ProviderRevision-{old.revision}"
    holder = changed(old.as_revision(), spec_desiredState="Inactive")
    revision = changed(says(new.as_revision(), controlled(old.revision, uid)), spec_revision=2)
    objects = [lock_of(new.as_entry()), new.as_package(), holder, revision]
    alone = definition(owner=old.revision, uid=uid)
    shared = definition(owner=old.revision, uid=uid)
    shared["metadata"]["ownerReferences"].append({"kind": "Provider", "name": "acme-net", "uid": "p"})

    kept, deleted, unknown = (only(diagnosed([*objects, *more])) for more in ([alone], [shared], []))

    assert kept.touch == ("CustomResourceDefinition", CRD)
    assert '{"op":"remove","path":"/metadata/ownerReferences/0"}' in kept.run[0]
    assert "do not delete the revision" in kept.care
    assert deleted.run == unknown.run == (f"kubectl delete providerrevision.pkg {old.revision}",)
    assert "give the definitions" in unknown.care
    assert "give the definitions" not in deleted.care


def test_an_owner_that_is_gone_is_taken_off_the_definition() -> None:
    net = provider("net v1.0.0")
    objects = [lock_of(net.as_entry()), *unhealthy(net, controlled("gone-0123456789ab", "old-uid"))]

    known = only(diagnosed([*objects, definition(owner="gone-0123456789ab", uid="old-uid")]))
    unknown = only(diagnosed(objects))

    assert known.touch == unknown.touch == ("CustomResourceDefinition", CRD)
    assert '"path":"/metadata/ownerReferences/0"' in known.run[0]
    assert "give the definitions" in unknown.care


def test_the_owner_of_a_revision_is_taken_off_only_if_it_is_still_the_same() -> None:
    [command] = only(diagnosed(STATES["revision-not-ours"]())).run

    assert '{"op":"test","path":"/metadata/ownerReferences/0/uid","value":"uid-Provider-acme-net"}' in command
    assert '{"op":"remove","path":"/metadata/ownerReferences/0"}' in command


@pytest.mark.parametrize("name", ["--all", "../secrets", "-h"])
def test_what_a_message_names_becomes_no_option_of_a_command(name: str) -> None:
    net = provider("net v1.0.0")
    texts = [
        f'CustomResourceDefinition "{name}" is invalid: status.storedVersions[0]: no',
        f"cannot establish control of object: {name} is already controlled by ProviderRevision x-1 (UID a)",
        f"cannot establish control of object: a.b is already controlled by ProviderRevision {name} (UID a)",
        f'cannot get referenced deployment runtime config: "{name}" not found',
    ]

    for text in texts:
        for finding in diagnosed([lock_of(net.as_entry()), *unhealthy(net, text)]).findings:
            assert name not in shlex.split(" ".join(finding.run))


# Definitions


def test_a_version_that_is_still_stored_is_migrated_unless_it_is_the_one_that_objects_are_written_in() -> (
    None
):
    objects = [*STATES["refused-definition"]()]
    storing = [
        one if one["kind"] != "CustomResourceDefinition" else stored_in(one, "v1beta1") for one in objects
    ]

    migrated, stuck = only(diagnosed(objects)), only(diagnosed(storing))

    assert migrated.run[0] == f"kubectl get {CRD} --all-namespaces -o json | kubectl replace -f -"
    assert stuck.run == (f"kubectl get crd {CRD} -o 'jsonpath={{.status.storedVersions}}'",)


def stored_in(value: Object, version: str) -> Object:
    return changed(value, spec_versions=[{"name": version, "served": True, "storage": True}])


EVENT = "cannot establish definition: status.storedVersions[0]: must appear in spec.versions"


def event(kind: str, name: str, message: str, type: str = "Warning") -> Object:
    about = {"involvedObject": {"kind": kind, "name": name}, "type": type, "reason": "Failed"}
    place = {"name": f"{name}.{len(message)}", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Event", "metadata": place, "message": message, **about}


def test_a_managed_kind_that_is_refused_quotes_its_events_and_migrates_nothing_without_them() -> None:
    pending = {
        "type": "Established",
        "status": "False",
        "reason": "PendingManagedResource",
        "message": "see events",
    }
    mrd = changed(definition(kind="ManagedResourceDefinition", state="Active"), status_conditions=[pending])
    crd = definition(versions=[{"name": "v1", "served": True, "storage": True}])
    crd["status"] = {"storedVersions": ["v1beta1", "v1"]}
    objects = [lock_of(), *provider("net v1.0.0", attached=False).objects_of_it(), mrd, crd]
    events = [
        event("ManagedResourceDefinition", CRD, EVENT),
        event("ManagedResourceDefinition", CRD, "all is well", type="Normal"),
        event("ManagedResourceDefinition", "others.example.org", "something else"),
    ]

    silent, told = only(diagnosed(objects)), only(diagnosed([*objects, *events]))

    assert silent.state is told.state is State.REFUSED_DEFINITION
    assert [line for line in told.why if line.startswith("event ")] == [f"event Failed: {EVENT}"]
    assert silent.run == (f"kubectl get crd {CRD} -o 'jsonpath={{.status.storedVersions}}'",)
    assert told.run[0].startswith(f"kubectl get {CRD} --all-namespaces -o json | kubectl replace")
    assert "run the second command only if the first one has written every object" in told.care


def being_deleted(value: Object, *finalizers: str) -> Object:
    return changed(
        value, metadata_deletionTimestamp="2026-01-01T00:00:00Z", metadata_finalizers=[*finalizers]
    )


@pytest.mark.parametrize(
    ("kind", "resource"),
    [
        ("ManagedResourceDefinition", "managedresourcedefinition"),
        ("CustomResourceDefinition", "customresourcedefinition"),
    ],
)
def test_what_holds_a_definition_is_shown_under_its_own_name(kind: str, resource: str) -> None:
    held = being_deleted(definition(kind=kind), "example.org/kept")

    finding = only(diagnosed([lock_of(), held]))

    assert finding.touch == (kind, CRD)
    assert finding.run == (f"kubectl get {resource} {CRD} -o 'jsonpath={{.metadata.finalizers}}'",)


def test_a_lock_that_is_deleted_waits_until_it_is_empty() -> None:
    net = provider("net v1.0.0")
    held = being_deleted(lock_of(net.as_entry()), "lock.pkg.crossplane.io")

    finding = only(diagnosed([held, *net.objects_of_it()]))

    assert finding.touch == ("Lock", "lock")
    assert "it still has 1 package" in finding.why


def test_a_provider_config_that_is_used_does_not_go_and_one_of_each_provider_is_told_apart() -> None:
    objects = []
    for group in ("net.example.org", "db.example.org"):
        value = {
            "apiVersion": f"{group}/v1beta1",
            "kind": "ProviderConfig",
            "metadata": {"name": "default", "uid": group},
        }
        objects.append({**value, "spec": {"credentials": {"secretRef": {"name": "secret"}}}})
    objects[0] = being_deleted(objects[0], "in-use.crossplane.io")

    finding = only(diagnosed([lock_of(), *objects]))

    assert finding.touch == ("ProviderConfig", "default")
    assert "net.example.org" in finding.what
    assert finding.run == ("kubectl get providerconfigusages.net.example.org --all-namespaces",)


# What runs


def pod(name: str, reason: str, **labels: str) -> Object:
    waiting = {"state": {"waiting": {"reason": reason, "message": "see the log"}}}
    metadata = {"name": name, "namespace": "crossplane-system", "labels": labels}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "status": {"containerStatuses": [waiting]},
    }


def test_pods_and_their_events_say_why_a_package_does_not_run() -> None:
    objects = [*STATES["runtime"]()]
    revision = provider("net v1.0.0").revision
    own = pod("net-1", "ImagePullBackOff")
    own["metadata"]["labels"]["pkg.crossplane.io/revision"] = revision
    more = [own, pod("other", "CrashLoopBackOff"), event("Pod", "net-1", "Back-off pulling image")]

    finding = only(diagnosed([*objects, *more]))

    assert finding.why[1:] == (
        "net-1: ImagePullBackOff see the log",
        "event Failed: Back-off pulling image",
    )


def test_where_nothing_is_said_crossplanes_own_pod_is_quoted() -> None:
    own = pod("crossplane-1", "CrashLoopBackOff", app="crossplane")
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "crossplane", "namespace": "upbound-system", "labels": {"app": "crossplane"}},
    }

    finding = only(diagnosed([*STATES["nothing-said"](), own, deployment]))

    assert finding.why[1:] == (
        "no pod of Deployment/crossplane is available",
        "crossplane-1: CrashLoopBackOff see the log",
    )
    assert "--namespace upbound-system" in finding.run[0]


# Texts of real Locks


def old_entry(name: str, source: str, needs: Sequence[tuple[str, str]] = ()) -> Object:
    """Return an entry as releases before v1.19 wrote it."""
    return {
        "name": name,
        "type": "Provider",
        "source": source,
        "version": "v1.4.0",
        "dependencies": [{"package": one, "constraints": text, "type": "Provider"} for one, text in needs],
    }


def test_a_family_that_is_there_and_reported_as_missing_makes_crossplane_look_again() -> None:
    family = provider("family v1.4.0", name="acme-family")
    member = provider("storage v1.4.0", name="my-storage")
    entries = [
        old_entry(family.revision, at("family")),
        old_entry(member.revision, at("storage"), [(at("family"), ">= 0.0.0")]),
    ]
    text = f"cannot resolve package dependencies: missing dependencies: [{at('family')}]"

    finding = only(diagnosed([lock_of(*entries), *family.objects_of_it(), *unhealthy(member, text)]))

    assert finding.state is State.WAITS
    assert finding.touch == ("ProviderRevision", member.revision)
    assert finding.run[0].startswith("kubectl annotate providerrevision.pkg")


def test_an_entry_with_constraints_and_no_source_is_broken_although_nothing_is_said() -> None:
    app = Running("app v1.0.0")
    entry = {**app.as_entry(), "dependencies": [{"constraints": ">=v1", "package": ""}] * 2}
    package = says(app.as_package(), "", status="Unknown", reason="UnknownPackageRevisionHealth")
    revision = changed(app.as_revision(), status_conditions=[])

    found = diagnosed([lock_of(entry), package, revision])

    assert states(found) == ["broken-entry"]


def test_a_dependency_that_moved_away_holds_up_a_package_that_asks_for_the_right_one() -> None:
    wrong, right = (
        Running("wrong v0.2.0", needs={"gone/helm": "*"}),
        Running("right v0.5.0", needs={"helm": "*"}),
    )
    texts = [f"missing dependencies: [{at(name)}]" for name in ("gone/helm", "helm")]
    objects = [made for one, text in zip((wrong, right), texts, strict=True) for made in unhealthy(one, text)]

    finding = only(diagnosed([lock_of(wrong.as_entry(), right.as_entry()), *objects]))

    assert finding.touch == ("Configuration", "acme-wrong")
    assert finding.consequences == [("Configuration", "acme-right")]


# What is not given, and what is odd


@pytest.mark.parametrize("name", STATES)
def test_all_but_commands_and_long_names_fits_80_columns(name: str) -> None:
    for line in format_diagnosis(diagnosed(STATES[name]())).splitlines():
        is_command = " kubectl " in line
        assert len(line) <= 80 or is_command or len(line.split()) <= 2, line


def test_what_was_not_given_is_said() -> None:
    net = provider("net v1.0.0")

    missing_inputs = diagnosed([net.as_package()]).missing

    assert [line.partition(",")[0] for line in missing_inputs] == [
        "without the Lock",
        "without revisions",
        "without CRDs",
        "without MRDs",
        "without ImageConfigs",
        "without Deployments and Pods",
    ]


def test_without_revisions_a_package_speaks_for_its_own() -> None:
    found = diagnosed([one for one in STATES["wrong-crossplane"]() if one["kind"] != "ProviderRevision"])

    assert states(found) == ["wrong-crossplane"]


def test_an_unknown_message_is_quoted_and_nothing_in_it_reaches_a_terminal() -> None:
    text = format_diagnosis(diagnosed(STATES["unknown"]()))

    assert "its message is unknown" in " ".join(text.split())
    assert r"the moon is in the wrong house\x1b[31m" in text
    assert "\x1b" not in text


def test_the_same_unknown_message_of_many_packages_is_one_finding() -> None:
    many = [made for i in range(20) for made in unhealthy(provider(f"p-{i} v1.0.0"), "something new")]

    finding = only(diagnosed([lock_of(), *many]))

    assert len(finding.consequences) == 19


def test_a_package_that_another_one_replaced_is_off_on_purpose() -> None:
    off = {"revisionActivationPolicy": "Manual", "skipDependencyResolution": True}
    net = provider("net v1.0.0", spec=off, attached=False)
    package = says(
        net.as_package(), "Package is inactive", type="Installed", reason="InactivePackageRevision"
    )
    revision = changed(net.as_revision(), spec_desiredState="Inactive")

    found = diagnosed([lock_of(), package, revision])

    assert states(found) == ["switched-off"]
    assert not found.stuck


def test_a_source_of_another_registry_is_named() -> None:
    assert OTHER in only(diagnosed(STATES["name-taken"]())).what
