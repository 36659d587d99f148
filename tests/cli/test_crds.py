"""Packages that depend on CRDs: locked, explained, upgraded, shared by folders, and given up."""

import json
from pathlib import Path

import pytest
from rig.builders.projects import World, at, locked, text_of
from rig.commands.run import run_command

from render.limits import Limits
from render.lock.model import State
from render.lock.text.file import read_lock
from render.system.files import LOCK_FILE

BUCKET = "bucket.s3.example.org/v1beta1"
CATALOG = f"catalog: [{{source: {at('s3')}}}]\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """An app that needs a CRD, and two versions of the provider that defines it."""
    world = World(tmp_path)
    for version in ("v1.0.0", "v1.1.0"):
        world.publish(f"s3 {version}", kind="Provider", defines=["buckets.s3.example.org v1beta1"])
    world.publish("s3 v2.0.0", kind="Provider", defines=["buckets.s3.example.org v1"])
    world.publish("app v1.0.0", needs_crds=[BUCKET])
    world.publish("alone v1.0.0")
    return world


def lock(folder: Path, *options: str) -> str:
    ran = run_command("lock", *options, str(folder))
    assert ran.code == 0, ran.stderr
    return ran.stdout


def test_the_catalog_answers_and_the_dependant_is_detached_which_is_said(world: World) -> None:
    folder = world.project("shop", "app", more=CATALOG)

    report = lock(folder)

    assert locked(folder) == {"app": "v1.0.0", "s3": "v1.1.0"}
    told = " ".join(report.split())
    assert f"Detached {at('app')} v1.0.0 (it depends on CRDs, which Crossplane does not resolve)" in told
    assert f"(required by crd {BUCKET} (of" in told
    rendered = run_command("render", str(folder)).stdout
    assert "skipDependencyResolution: true" in rendered
    assert rendered.index("kind: Provider") < rendered.index("kind: Configuration")


def test_a_lock_with_answers_is_confirmed_byte_for_byte(world: World) -> None:
    folder = world.project("shop", "app", more=CATALOG)
    lock(folder)
    before = text_of(folder)

    assert run_command("lock", "--check", str(folder)).code == 0
    assert run_command("lock", "-U", str(folder)).code == 0
    assert text_of(folder) == before


def test_a_lock_is_confirmed_although_another_source_of_the_catalog_is_gone(world: World) -> None:
    world.publish("gone v1.0.0", kind="Provider", defines=["queues.sqs.example.org v1"])
    more = f"catalog: [{{source: {at('s3')}}}, {{source: {at('gone')}}}]\n"
    folder = world.project("shop", "app", more=more)
    lock(folder)
    index = world.layout / "index.json"
    listed = json.loads(index.read_text())
    kept = [one for one in listed["manifests"] if "/gone:" not in json.dumps(one)]
    index.write_text(json.dumps({**listed, "manifests": kept}))

    assert run_command("lock", "--check", str(folder)).code == 0
    run_command("lock", "-U", str(folder)).assert_refused(1, "xplock.yaml: catalog[1]: ")


def test_why_shows_who_needs_a_crd_and_tree_marks_it(world: World) -> None:
    folder = world.project("shop", "app", more=CATALOG)
    lock(folder)

    text = run_command("why", "crd:bucket", str(folder)).stdout
    document = json.loads(run_command("why", f"crd:{BUCKET}", str(folder), "-o", "json").stdout)

    assert text == (
        "Needed by (1)\n"
        f"  {at('app')} v1.0.0\n"
        f"    needs        {BUCKET}\n"
        f"    answered by  {at('s3')} v1.1.0, from the catalog\n"
    )
    assert document == [
        {"dependant": at("app"), "crd": BUCKET, "versions": None, "answeredBy": at("s3"), "from": "catalog"}
    ]
    assert "s3 v1.1.0 [Provider] (by CRD)" in run_command("tree", str(folder)).stdout
    run_command("why", "crd:bukket.s3.example.org/v1beta1", str(folder)).assert_refused(2, f"crd:{BUCKET}?")


def test_a_crd_that_nothing_defines_is_exit_4_and_nothing_is_written(world: World) -> None:
    folder = world.project("shop", "app")

    ran = run_command("lock", str(folder))

    ran.assert_refused(4, f"{at('app')} v1.0.0 needs {BUCKET}", "no registry is searched", "catalog:")
    assert not (folder / LOCK_FILE).exists()


def test_a_used_folder_answers_and_its_package_is_not_rendered_again(world: World) -> None:
    platform = world.project("platform", "s3:v1.1.0")
    shop = world.project("shop", "app", more="uses: [../platform]\n")
    lock(platform)

    lock(shop)

    assert locked(shop) == {"app": "v1.0.0"}
    assert run_command("render", str(shop)).stdout.count("kind: Provider") == 0
    assert "from the closure" in run_command("why", "crd:bucket", str(shop)).stdout
    assert run_command("check", str(platform), str(shop)).code == 0


def test_a_package_that_is_needed_for_a_crd_alone_leaves_with_its_dependant(world: World) -> None:
    folder = world.project("shop", "app", "alone", more=CATALOG)
    lock(folder)

    world.project("shop", "alone", more=CATALOG)
    lock(folder)

    after = read_lock(folder, Limits())
    assert after is not None
    assert {p.source.name: p.state for p in after.packages.values()} == {
        "alone": State.WANTED,
        "app": State.ORPHANED,
        "s3": State.ORPHANED,
    }
    ran = run_command("-C", str(folder), "retire", "s3")
    assert ran.code != 0
    assert at("app") in ran.stderr


def test_an_orphan_keeps_the_package_that_answers_it_at_a_version_that_serves_its_crd(world: World) -> None:
    folder = world.project("shop", "app", "s3", "alone")
    lock(folder)
    assert locked(folder)["s3"] == "v1.1.0"

    world.project("shop", "s3", "alone")
    lock(folder, "-U")

    # v2.0.0 serves v1 alone.
    assert locked(folder)["s3"] == "v1.1.0"


def test_verify_compares_the_crds_of_the_lock_with_those_of_the_package(world: World) -> None:
    folder = world.project("shop", "app", more=CATALOG)
    lock(folder)
    assert run_command("verify", str(folder)).code == 0

    edited = text_of(folder).decode().replace(BUCKET, "buckets.s3.example.org/v1beta1")
    (folder / LOCK_FILE).write_text(edited)

    ran = run_command("verify", str(folder))
    assert ran.code != 0
    assert "dependencies on CRDs" in ran.stdout + ran.stderr


def test_inspect_shows_dependencies_on_crds(world: World) -> None:
    layout = f"xpkg.example.org={world.layout}"

    text = run_command("package", "inspect", f"{at('app')}:v1.0.0", "--layout", layout).stdout
    document = json.loads(
        run_command("package", "inspect", f"{at('app')}:v1.0.0", "--layout", layout, "-o", "json").stdout
    )

    assert "Crossplane resolves no dependencies on CRDs" in text
    assert document["crds"] == [{"crd": BUCKET, "constraint": "*"}]


class TestPackageOnDisk:
    """`dependsOn` of a crossplane.yaml: what the user asks for."""

    def project(self, world: World, *entries: str, more: str = CATALOG) -> Path:
        folder = world.project("disk", more=more)
        meta = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: disk}\n"
        listed = "".join(f"  - {entry}\n" for entry in entries)
        (folder / "crossplane.yaml").write_text(f"{meta}spec:\n  dependsOn:\n{listed}")
        return folder

    @pytest.mark.parametrize(
        "crd",
        [
            f"crd: {BUCKET}",
            "crd: {group: s3.example.org, kind: Bucket, version: v1beta1}",
            "crd: '*.s3.example.org/v1beta1'",
        ],
    )
    def test_every_form_is_answered(self, world: World, crd: str) -> None:
        folder = self.project(world, crd)

        lock(folder)

        assert locked(folder) == {"s3": "v1.1.0"}
        assert run_command("render", str(folder)).code == 0
        assert run_command("lock", "--check", str(folder)).code == 0

    def test_version_beside_crd_constrains_the_package(self, world: World) -> None:
        folder = self.project(world, f"{{crd: {BUCKET}, version: <v1.1.0}}")

        lock(folder)

        assert locked(folder) == {"s3": "v1.0.0"}

    def test_every_wrong_entry_is_named_with_its_place(self, world: World) -> None:
        folder = self.project(
            world,
            "crd: bucket",
            f"{{crd: {BUCKET}, provider: {at('s3')}}}",
            "{crd: {group: s3.example.org, kind: Bucket, versions: v1}}",
            f"{{crd: {BUCKET}, version: '>>1'}}",
        )

        run_command("lock", str(folder)).assert_refused(
            2,
            "have 4 problems",
            "crossplane.yaml: spec.dependsOn[0].crd: 'bucket' does not name a CRD",
            "<plural|singular|kind|*>.<group>[/<version>]",
            "crossplane.yaml: spec.dependsOn[1]: it names crd and provider; give one of them",
            "crossplane.yaml: spec.dependsOn[2].crd.versions: unknown field; did you mean version?",
            "crossplane.yaml: spec.dependsOn[3].version",
        )

    def test_a_range_of_crossplane_may_be_an_entry(self, world: World) -> None:
        folder = self.project(world, f"crd: {BUCKET}", "crossplane: '>=v1.20.0'")

        lock(folder)

        assert locked(folder) == {"s3": "v1.1.0"}


class TestCatalogFile:
    """`xplock catalog build`, and the file that it writes."""

    def build(self, world: World, *sources: str) -> Path:
        folder = world.project("shop", "app", more="catalog: [{file: catalog.yaml}]\n")
        (folder / "catalog.yaml").unlink(missing_ok=True)
        layout = f"xpkg.example.org={world.layout}"
        file = str(folder / "catalog.yaml")
        ran = run_command("catalog", "build", *sources, "--every-version", "--layout", layout, "-o", file)
        assert ran.code == 0, ran.stderr
        return folder

    def test_rows_are_sorted_one_per_line_and_know_since_when(self, world: World) -> None:
        world.publish("queue v1.0.0", kind="Provider", defines=["queues.aqs.example.org v1"])
        text = (self.build(world, at("s3"), at("queue")) / "catalog.yaml").read_text()
        other = (self.build(world, at("queue"), at("s3")) / "catalog.yaml").read_text()

        rows = [
            line.removeprefix('- "').rpartition(" ")[0] for line in text.splitlines() if line.startswith("- ")
        ]
        assert rows == [
            f"aqs.example.org v1 Queue queues queue {at('queue')} >=v1.0.0",
            f"s3.example.org v1 Bucket buckets bucket {at('s3')} >=v2.0.0",
            f"s3.example.org v1beta1 Bucket buckets bucket {at('s3')} >=v1.0.0,<=v1.1.0",
        ]
        assert text == other

    def test_a_file_answers_and_its_rows_are_an_input_of_the_lock(self, world: World) -> None:
        folder = self.build(world, at("s3"))
        lock(folder)
        file = folder / "catalog.yaml"

        file.write_text(f"# reviewed\n{file.read_text()}")
        assert locked(folder) == {"app": "v1.0.0", "s3": "v1.1.0"}
        assert run_command("render", str(folder)).code == 0

        file.write_text(file.read_text().replace("<=v1.1.0", "<=v1.0.0"))
        run_command("render", str(folder)).assert_refused(3, "catalog catalog.yaml changed")

    def test_a_file_that_is_missing_or_not_named_is_a_problem(self, world: World) -> None:
        folder = self.build(world, at("s3"))
        world.project("shop", "app")
        run_command("lock", str(folder)).assert_refused(2, "it is a catalog that xplock.yaml does not name")

        world.project("shop", "app", more="catalog: [{file: gone.yaml}]\n")
        (folder / "catalog.yaml").unlink()
        run_command("lock", str(folder)).assert_refused(2, "xplock.yaml: catalog: gone.yaml does not exist")

    def test_wrong_rows_are_named_all_at_once(self, world: World) -> None:
        folder = self.build(world, at("s3"))
        head = "apiVersion: xplock.dev/v1alpha1\nkind: Catalog\nrows:\n"
        row = f"s3.example.org v1 Bucket buckets bucket {at('s3')} >=v1 sha256:{'0' * 64}"
        wrong = [
            "too short",
            row.replace(">=v1", ">>"),
            row.replace("sha256", "md5"),
            row.replace(".", "!", 1),
        ]
        (folder / "catalog.yaml").write_text(head + "".join(f'- "{text}"\n' for text in [row, *wrong]))

        run_command("lock", str(folder)).assert_refused(
            2, "have 4 problems", *(f"catalog.yaml: rows[{i}]" for i in range(1, 5))
        )

    def test_every_source_that_cannot_be_read_is_named_and_nothing_is_written(self, world: World) -> None:
        folder = world.project("shop", "app")
        layout, file = f"xpkg.example.org={world.layout}", folder / "catalog.yaml"

        ran = run_command(
            *(
                "catalog",
                "build",
                at("s3"),
                at("gone"),
                f"{at('app')}=>=9",
                "--layout",
                layout,
                "-o",
                str(file),
            )
        )

        ran.assert_refused(1, f"{at('gone')}: ", f"{at('app')}: it has no version that suits >=9")
        assert not file.exists()

    def test_a_pattern_stands_for_the_sources_that_a_layout_or_the_lock_lists(self, world: World) -> None:
        world.publish("s3-more v1.0.0", kind="Provider", defines=["queues.aqs.example.org v1"])
        world.publish(f"{at('s3')}/deeper v1.0.0", kind="Provider", defines=["deeps.example.org v1"])
        folder = world.project("shop", "app", more=CATALOG)
        layout = ("--layout", f"xpkg.example.org={world.layout}")

        listed = run_command("catalog", "build", f"{at('s3')}*=<2", *layout).stdout
        lock(folder)
        (world.folder / "alone").mkdir()
        (folder / LOCK_FILE).rename(world.folder / "alone" / LOCK_FILE)
        in_lock = ("-C", str(world.folder / "alone"), "catalog", "build", f"{at('s3')}*")

        assert listed.count(f" {at('s3-more')} ") == 1
        assert f" {at('s3')} >=v1.1.0 " in listed
        assert "deeps" not in listed
        run_command(*in_lock, "--allowed-registry", "other.example.org").assert_refused(1, f"{at('s3')}: ")
        run_command("catalog", "build", f"{at('none')}*", *layout).assert_refused(
            2, "a registry cannot list its repositories"
        )

    def test_every_argument_that_names_no_source_is_reported_at_once(self) -> None:
        ran = run_command("catalog", "build", "nonsense", "a*b", f"{at('s3')}:v1=<2", f"{at('s3')}=>>1")

        ran.assert_refused(2, "'nonsense'", "a*b is no pattern", "a tag and a range", "'>>1'")

    def test_a_source_in_a_row_that_is_gone_is_to_be_corrected_in_the_file(self, world: World) -> None:
        folder = self.build(world, at("s3"))
        file = folder / "catalog.yaml"
        file.write_text(file.read_text().replace(at("s3"), at("gone")))

        run_command("lock", str(folder)).assert_refused(
            1, f"correct {at('gone')} in catalog.yaml, or remove it there"
        )

    def test_a_tag_or_a_range_chooses_what_is_read(self, world: World) -> None:
        layout = f"xpkg.example.org={world.layout}"

        tagged = run_command("catalog", "build", f"{at('s3')}:v1.0.0", "--layout", layout).stdout
        ranged = run_command("catalog", "build", f"{at('s3')}=<v2", "--layout", layout).stdout

        assert ">=v1.0.0 sha256" in tagged
        assert ">=v1.1.0 sha256" in ranged
        run_command("catalog", "build", f"{at('s3')}@sha256:{'0' * 64}", "--layout", layout).assert_refused(
            2, "write SOURCE, SOURCE:TAG or SOURCE=RANGE"
        )


def test_wrong_catalog_settings_are_named_with_their_places(world: World) -> None:
    entries = "[{source: a.example/*}, {source: b.example/x, file: f}, {}, {file: ../f}, {source: c.example/x}, {source: c.example/x}]"
    folder = world.project("shop", "app", more=f"catalog: {entries}\n")

    run_command("lock", str(folder)).assert_refused(
        2,
        "xplock.yaml: catalog[0].source: a registry cannot list its repositories",
        "xplock.yaml: catalog[1]: expected either a source or a file",
        "xplock.yaml: catalog[2]: expected either a source or a file",
        "xplock.yaml: catalog[3].file: expected a file of this folder",
        "xplock.yaml: catalog[5].source: c.example/x has an entry already",
    )


def test_a_source_of_the_catalog_that_is_gone_is_named_with_its_place(world: World) -> None:
    folder = world.project(
        "shop", "app", more=f"catalog: [{{source: {at('s3')}}}, {{source: {at('gone')}}}]\n"
    )

    run_command("lock", str(folder)).assert_refused(1, "xplock.yaml: catalog[1]: ", at("gone"))


def test_building_a_package_that_depends_on_a_crd_warns(tmp_path: Path) -> None:
    meta = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: app}\n"
    (tmp_path / "app").mkdir()
    (tmp_path / "app/crossplane.yaml").write_text(f"{meta}spec: {{dependsOn: [{{crd: {BUCKET}}}]}}\n")

    ran = run_command("package", "build", str(tmp_path / "app"), "-o", str(tmp_path / "app.xpkg"))

    assert ran.code == 0, ran.stderr
    assert "warning: it depends on CRDs, which Crossplane does not resolve" in ran.stderr


class TestInstallObject:
    """`spec.crd` of a ClusterPackageInstall: a root whose package is found when the folder is locked."""

    def project(self, world: World, crd: str, more: str = CATALOG) -> Path:
        folder = world.project("install", more=more)
        (folder / "install.yaml").write_text(
            "apiVersion: packages.crossplane.io/v1alpha1\n"
            "kind: ClusterPackageInstall\n"
            "metadata: {name: my-storage}\n"
            f"spec: {{crd: {crd}}}\n"
        )
        return folder

    def test_its_package_is_installed_under_its_name_and_it_is_not_rendered(self, world: World) -> None:
        folder = self.project(world, BUCKET)

        lock(folder)

        rendered = run_command("render", str(folder)).stdout
        assert locked(folder) == {"s3": "v1.1.0"}
        assert "kind: Provider\nmetadata:\n  name: my-storage\n" in rendered
        assert "ClusterPackageInstall" not in rendered
        assert f"  you\n    needs        {BUCKET}\n" in run_command("why", "crd:bucket", str(folder)).stdout
        assert run_command("lock", "--check", str(folder)).code == 0

    def test_a_crd_that_nothing_defines_is_named_with_its_place(self, world: World) -> None:
        folder = self.project(world, "bukket.s3.example.org")

        run_command("lock", str(folder)).assert_refused(
            4, "you ask for bukket.s3.example.org (install.yaml", "buckets.s3.example.org (v1)"
        )
