"""The platform, layer and file that Crossplane takes out of an image."""

import pytest
from rig.builders.images import END, META, REFERENCE, Shelf, entry, gzipped, package_layer

from render.limits import LimitExceeded, Limits
from render.references import Reference
from render.registry.oci import Descriptor, Platform
from render.xpkg.image import InvalidImage, fetch_image, fetch_package_yaml

LIMITS = Limits()
AMD = Platform("linux", "amd64")
ARM = Platform("linux", "arm64")


def package_yaml(shelf: Shelf, limits: Limits = LIMITS) -> bytes:
    image = fetch_image(shelf, REFERENCE, limits)
    return b"".join(fetch_package_yaml(shelf, image, limits))


def flattened(*layers: bytes) -> bytes:
    """Return what Crossplane finds in an image of such layers, lowest first, none of them marked."""
    shelf = Shelf()
    shelf.add_image(*(gzipped(layer, END) for layer in layers))
    return package_yaml(shelf)


class TestIndexes:
    def test_the_linux_amd64_entry_is_taken_on_every_machine(self) -> None:
        shelf = Shelf()
        arm = shelf.add_image(package_layer(b"arm"), tag=None, platform=ARM)
        amd = shelf.add_image(package_layer(b"amd"), tag=None, platform=AMD)
        index = shelf.add_index(arm, amd)

        image = fetch_image(shelf, REFERENCE, LIMITS)

        assert (image.digest, image.manifest_digest) == (index.digest, amd.digest)
        assert image.index is not None
        assert package_yaml(shelf) == b"amd"

    def test_a_variant_does_not_matter(self) -> None:
        shelf = Shelf()
        shelf.add_index(
            shelf.add_image(package_layer(b"v3"), tag=None, platform=Platform("linux", "amd64", "v3"))
        )

        assert package_yaml(shelf) == b"v3"

    def test_of_two_entries_for_one_platform_the_first_counts(self) -> None:
        shelf = Shelf()
        entries = [shelf.add_image(package_layer(text), tag=None, platform=AMD) for text in (b"1", b"2")]
        shelf.add_index(*entries)

        assert package_yaml(shelf) == b"1"

    def test_an_entry_without_a_platform_counts_as_the_wanted_one(self) -> None:
        shelf = Shelf()
        none = shelf.add_image(package_layer(b"none"), tag=None)
        amd = shelf.add_image(package_layer(b"amd"), tag=None, platform=AMD)
        shelf.add_index(none, amd)

        assert package_yaml(shelf) == b"none"

    def test_an_entry_with_an_empty_platform_does_not(self) -> None:
        shelf = Shelf()
        empty = shelf.add_image(package_layer(b"empty"), tag=None)
        data = shelf.contents[shelf.add_index(empty, tag=None).digest].data
        shelf.add_content(data[:-3] + b',"platform":{"os":"","architecture":""}}]}', "")

        with pytest.raises(InvalidImage, match="no entry for linux/amd64") as refused:
            package_yaml(shelf)

        assert "the index has (empty)" in refused.value.why[0]

    def test_an_error_lists_the_platforms_there_are(self) -> None:
        shelf = Shelf()
        windows = Platform("windows", "arm64")
        shelf.add_index(shelf.add_image(package_layer(META), tag=None, platform=windows))

        with pytest.raises(InvalidImage) as refused:
            package_yaml(shelf)

        assert "windows/arm64" in refused.value.why[0]

    def test_an_empty_index_has_nothing_at_all(self) -> None:
        shelf = Shelf()
        shelf.add_index()

        with pytest.raises(InvalidImage) as refused:
            package_yaml(shelf)

        assert "nothing at all" in refused.value.why[0]

    def test_an_index_in_an_index_is_opened(self) -> None:
        shelf = Shelf()
        inner = shelf.add_index(shelf.add_image(package_layer(META), tag=None), tag=None)
        outer = shelf.add_index(inner)

        image = fetch_image(shelf, REFERENCE, LIMITS)

        assert image.digest == outer.digest
        assert package_yaml(shelf) == META

    def test_indexes_in_indexes_end_somewhere(self) -> None:
        shelf = Shelf()
        nested = shelf.add_image(package_layer(META), tag=None)
        for tag in (None, None, "v1"):
            nested = shelf.add_index(nested, tag=tag)

        with pytest.raises(LimitExceeded, match="index contains indexes"):
            package_yaml(shelf)

    def test_an_entry_of_another_size_is_refused(self) -> None:
        shelf = Shelf()
        child = shelf.add_image(package_layer(META), tag=None)
        shelf.add_index(Descriptor(child.media_type, child.digest, child.size + 1))

        with pytest.raises(InvalidImage, match="another size than its index says"):
            package_yaml(shelf)

    def test_the_manifest_for_other_tools_is_known_and_not_read(self) -> None:
        shelf = Shelf()
        amd = shelf.add_image(package_layer(META), tag=None, platform=AMD)
        extensions = shelf.add_image(
            package_layer(b"x"), tag=None, annotations={"io.crossplane.xpkg": "xpkg-extensions"}
        )
        shelf.add_index(amd, extensions)

        image = fetch_image(shelf, REFERENCE, LIMITS)

        assert image.extensions is not None
        assert image.extensions.digest == extensions.digest
        assert package_yaml(shelf) == META
        assert extensions.digest not in shelf.asked

    def test_a_single_manifest_has_no_extensions(self) -> None:
        shelf = Shelf()
        shelf.add_image(package_layer(META))

        assert fetch_image(shelf, REFERENCE, LIMITS).extensions is None

    def test_a_digest_is_asked_for_as_such(self) -> None:
        shelf = Shelf()
        digest = shelf.add_image(package_layer(META)).digest

        image = fetch_image(shelf, Reference(REFERENCE.source, digest=digest), LIMITS)

        assert image.digest == image.manifest_digest == digest
        assert shelf.asked == [digest]


class TestMarkedLayer:
    def test_it_is_read_alone(self) -> None:
        shelf = Shelf()
        shelf.add_image(
            package_layer(b"lower"), package_layer(b"marked"), package_layer(b"upper"), marked=[1]
        )

        assert package_yaml(shelf) == b"marked"
        assert len(shelf.asked) == 2

    def test_whiteouts_mean_nothing_in_it(self) -> None:
        shelf = Shelf()
        shelf.add_image(gzipped(entry(".wh.package.yaml"), entry("package.yaml", META), END), marked=[0])

        assert package_yaml(shelf) == META

    def test_the_first_one_at_any_depth_is_taken(self) -> None:
        shelf = Shelf()
        shelf.add_image(
            gzipped(entry("a/package.yaml.bak"), entry("../x/package.yaml", META), END), marked=[0]
        )

        assert package_yaml(shelf) == META

    def test_without_the_file_it_is_refused(self) -> None:
        shelf = Shelf()
        shelf.add_image(package_layer(META), gzipped(entry("other.yaml", META), END), marked=[1])

        with pytest.raises(InvalidImage) as refused:
            package_yaml(shelf)

        assert refused.value.why == ("its package layer does not contain one",)

    def test_more_than_the_bound_is_refused(self) -> None:
        shelf = Shelf()
        shelf.add_image(package_layer(META), marked=[0])

        assert package_yaml(shelf, Limits(package_bytes=len(META))) == META
        with pytest.raises(LimitExceeded, match=r"package\.yaml is too large"):
            package_yaml(shelf, Limits(package_bytes=len(META) - 1))


FILE = entry("package.yaml", b"upper")
LOWER = entry("package.yaml", b"lower")


class TestFlattening:
    """Each case was worked out by hand from extractLayer in go-containerregistry."""

    @pytest.mark.parametrize(
        ("layers", "found"),
        [
            pytest.param([LOWER, FILE], b"upper", id="the upper file hides the lower"),
            pytest.param([LOWER, entry("./package.yaml", b"upper")], b"upper", id="names are cleaned"),
            pytest.param([LOWER, entry("a//../package.yaml", b"upper")], b"upper", id="dots are followed"),
            pytest.param([LOWER, entry("x")], b"lower", id="another file hides nothing"),
            pytest.param([entry("a/package.yaml/.", b"x")], b"x", id="a dot at the end is cleaned away"),
            pytest.param([entry("b/c/package.yaml", b"x"), entry("a", kind=b"5")], b"x", id="any depth"),
            pytest.param([LOWER, entry(".wh.other")], b"lower", id="whiteout of another file"),
            pytest.param([LOWER, entry("x/.wh.package.yaml")], b"lower", id="whiteout in another folder"),
            pytest.param([LOWER, FILE + entry(".wh.package.yaml")], b"upper", id="whiteout behind the file"),
            pytest.param([LOWER, entry(".wh..wh..opq") + FILE], b"upper", id="opaque spares its own layer"),
            pytest.param(
                [entry("a/package.yaml", b"x"), entry("b/.wh..wh..opq")], b"x", id="opaque folder elsewhere"
            ),
            pytest.param(
                [entry("a/package.yaml", b"x"), entry("a", kind=b"5")],
                b"x",
                id="a folder hides nothing below it",
            ),
            pytest.param(
                [entry("x/package.yaml", b"x"), entry("x"), entry("x", kind=b"5")],
                b"x",
                id="a file that a folder hides hides nothing itself",
            ),
            pytest.param(
                [entry("/package.yaml", b"x"), entry(".wh.package.yaml")],
                b"x",
                id="a slash makes another name",
            ),
            pytest.param(
                [entry("l/package.yaml", b"x"), entry("l", kind=b"2", link=b"../../out")],
                b"x",
                id="a link out of the root is left out and hides nothing",
            ),
            pytest.param(
                [LOWER, entry("pax_global_header", b"", b"g") + entry("x")], b"lower", id="a global header"
            ),
        ],
    )
    def test_what_is_found(self, layers: list[bytes], found: bytes) -> None:
        assert flattened(*layers) == found

    @pytest.mark.parametrize(
        "layers",
        [
            pytest.param([LOWER, entry(".wh.package.yaml")], id="whiteout"),
            pytest.param([LOWER, entry("./.wh.package.yaml")], id="whiteout with a dot"),
            pytest.param([entry(".wh.package.yaml") + LOWER], id="whiteout before the file in its layer"),
            pytest.param([LOWER, entry(".wh..wh..opq")], id="opaque root"),
            pytest.param([entry("a/b/package.yaml", b"x"), entry("a/.wh..wh..opq")], id="opaque above"),
            pytest.param([entry("a/b/package.yaml", b"x"), entry(".wh.a")], id="whiteout of a folder above"),
            pytest.param([entry("a/package.yaml", b"x"), entry("a")], id="file over folder"),
            pytest.param([entry("a") + entry("a/package.yaml", b"x")], id="below a file of its own layer"),
            pytest.param(
                [entry("a/package.yaml", b"x"), entry("a", kind=b"2", link=b"b")], id="link over folder"
            ),
            pytest.param([LOWER, entry(".wh.")], id="whiteout of the root"),
            pytest.param([LOWER, entry("x"), entry(".wh.package.yaml")], id="two layers up"),
            pytest.param([entry("x")], id="no such file"),
            pytest.param([], id="no layers"),
        ],
    )
    def test_what_is_hidden(self, layers: list[bytes]) -> None:
        with pytest.raises(InvalidImage, match=r"has no package\.yaml") as refused:
            flattened(*layers)

        assert refused.value.why == ("it is not a Crossplane package",)

    @pytest.mark.parametrize(
        "layers",
        [
            pytest.param([entry("a/package.yaml", b"1"), entry("b/package.yaml", b"2")], id="two folders"),
            pytest.param([LOWER, entry("/package.yaml", b"2")], id="a slash in front"),
            pytest.param([FILE + LOWER], id="twice in one layer"),
            pytest.param([FILE + entry("./package.yaml", b"2")], id="twice under two names"),
            pytest.param([LOWER, entry("package.yaml", kind=b"5")], id="a folder of that name"),
            pytest.param([LOWER, entry("package.yaml", b"", b"g")], id="a global header of that name"),
            pytest.param([LOWER, entry("package.yaml", kind=b"2", link=b"../x")], id="an escaping link"),
        ],
    )
    def test_what_can_be_read_in_two_ways(self, layers: list[bytes]) -> None:
        with pytest.raises(InvalidImage, match=r"has no single package\.yaml"):
            flattened(*layers)

    @pytest.mark.parametrize("name", ["../package.yaml", "a/../../x", "..", "\\x", "a\\..\\..\\x", "C:x"])
    def test_what_lies_outside_of_the_root(self, name: str) -> None:
        with pytest.raises(InvalidImage, match="a file outside of its root"):
            flattened(LOWER, entry(name))
