"""The cache returns the right bytes or none, also with other processes, some of them killed."""

import hashlib
import io
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from render.limits import Limits
from render.references import Digest
from render.registry.cache import Cache, open_cache

CONTENT = b"some layer" * 100
HOUR = 3_600

# Says when it was asked for the next block, and hands it out on word from the test.
WRITER = """
import io, sys
from pathlib import Path
from render.limits import Limits
from render.references import Digest
from render.registry.cache import Cache

class Slow(io.BytesIO):
    def read(self, size=-1):
        print("asked", flush=True)
        sys.stdin.readline()
        return super().read(len(self.getvalue()) // 4)

Cache(Path(sys.argv[1]), Limits(), sys.exit).add_blob(Digest(sys.argv[2]), Slow(b"x" * 400_000))
"""

# Adds one blob again and again from the moment on that it is told to, and reads it back each time.
CROWD = """
import io, sys
from pathlib import Path
from render.limits import Limits
from render.references import Digest
from render.registry.cache import Cache

cache, digest = Cache(Path(sys.argv[1]), Limits(), sys.exit), Digest(sys.argv[2])
sys.stdin.readline()
for _ in range(50):
    cache.add_blob(digest, io.BytesIO(b"x" * 400_000))
    with cache.get_blob(digest, 400_000) as file:
        assert file.read() == b"x" * 400_000
"""

# Adds blob after blob until it is killed.
ENDLESS = """
import hashlib, io, itertools, sys
from pathlib import Path
from render.limits import Limits
from render.references import Digest
from render.registry.cache import Cache

cache = Cache(Path(sys.argv[1]), Limits(), sys.exit)
for i in itertools.count():
    data = i.to_bytes(4, "big") * 50_000
    cache.add_blob(Digest("sha256:" + hashlib.sha256(data).hexdigest()), io.BytesIO(data))
    print(i, flush=True)
"""

LARGE = b"x" * 400_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the cache is; not there yet."""
    return tmp_path / "cache"


@pytest.fixture
def cache(folder: Path) -> Cache:
    """A cache that must not complain."""
    return Cache(folder, Limits(), no_warning)


def no_warning(text: str) -> None:
    raise AssertionError(f"unexpected warning: {text}")


def digest_of(data: bytes) -> Digest:
    return Digest(f"sha256:{hashlib.sha256(data).hexdigest()}")


def add(cache: Cache, data: bytes) -> Digest:
    cache.add_blob(digest_of(data), io.BytesIO(data))
    return digest_of(data)


def read(cache: Cache, digest: Digest, size: int | None = None) -> bytes | None:
    file = cache.get_blob(digest, size)
    if file is None:
        return None
    with file:
        return file.read()


def blob_file(folder: Path, digest: Digest) -> Path:
    name = digest.removeprefix("sha256:")
    return folder / "blobs/sha256" / name[:2] / name


def facts_file(folder: Path, digest: Digest, kind: str) -> Path:
    name = digest.removeprefix("sha256:")
    return folder / "facts/1/sha256" / name[:2] / f"{name}.{kind}"


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if not path.is_dir())


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def start(program: str, *arguments: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_a_blob_that_was_added_is_found_by_another_cache_on_the_folder(cache: Cache, folder: Path) -> None:
    digest = add(cache, CONTENT)

    other = Cache(folder, Limits(), no_warning)

    assert read(other, digest) == CONTENT
    assert read(other, digest, len(CONTENT)) == CONTENT
    assert blob_file(folder, digest).read_bytes() == CONTENT


def test_a_blob_comes_as_a_file_that_can_be_read_from_anywhere(cache: Cache) -> None:
    file = cache.get_blob(add(cache, CONTENT))

    assert file is not None
    with file:
        assert (file.tell(), file.seekable(), file.readable()) == (0, True, True)
        assert file.seek(5) == 5
        assert file.read() == CONTENT[5:]


def test_a_blob_is_added_whole_wherever_its_file_stands(cache: Cache) -> None:
    file = io.BytesIO(CONTENT)
    file.seek(7)

    cache.add_blob(digest_of(CONTENT), file)

    assert file.tell() == 0
    assert read(cache, digest_of(CONTENT)) == CONTENT


def test_an_empty_blob_is_a_blob(cache: Cache) -> None:
    assert read(cache, add(cache, b""), 0) == b""


def test_a_digest_that_was_not_added_is_not_found(cache: Cache, folder: Path) -> None:
    assert cache.get_blob(digest_of(CONTENT)) is None
    assert cache.get_facts(digest_of(CONTENT), "package") is None
    assert not folder.exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"X" + data[1:],
        lambda data: data[:-1],
        lambda data: data + b"\n",
        lambda _: b"",
    ],
    ids=["other byte", "shorter", "longer", "empty"],
)
def test_a_damaged_blob_is_removed_and_can_be_added_again(
    cache: Cache, folder: Path, damage: Callable[[bytes], bytes]
) -> None:
    digest = add(cache, CONTENT)
    blob_file(folder, digest).write_bytes(damage(CONTENT))

    assert cache.get_blob(digest) is None
    assert files_in(folder) == []
    assert read(cache, add(cache, CONTENT)) == CONTENT


def test_a_blob_of_another_size_than_expected_is_not_handed_out_and_stays(cache: Cache) -> None:
    digest = add(cache, CONTENT)

    assert cache.get_blob(digest, len(CONTENT) - 1) is None
    assert cache.get_blob(digest, len(CONTENT) + 1) is None
    assert read(cache, digest, len(CONTENT)) == CONTENT


def test_bytes_of_another_digest_are_refused(cache: Cache, folder: Path) -> None:
    with pytest.raises(ValueError, match="are not those of"):
        cache.add_blob(digest_of(b"other"), io.BytesIO(CONTENT))

    assert files_in(folder) == []


@pytest.mark.parametrize("digest", ["sha256:../../x", "sha256:" + "A" * 64, "md5:" + "0" * 32, ""])
def test_only_a_digest_names_a_place(cache: Cache, digest: str) -> None:
    with pytest.raises(ValueError, match="not a digest"):
        cache.get_blob(Digest(digest))


def test_facts_are_kept_by_digest_and_kind(cache: Cache, folder: Path) -> None:
    cache.put_facts(digest_of(b"a"), "package", b"one\n\0two\n")
    cache.put_facts(digest_of(b"a"), "objects", b"")
    cache.put_facts(digest_of(b"b"), "package", b"three")

    other = Cache(folder, Limits(), no_warning)

    assert other.get_facts(digest_of(b"a"), "package") == b"one\n\0two\n"
    assert other.get_facts(digest_of(b"a"), "objects") == b""
    assert other.get_facts(digest_of(b"b"), "package") == b"three"
    assert other.get_facts(digest_of(b"b"), "objects") is None
    assert facts_file(folder, digest_of(b"a"), "package").exists()


def test_facts_can_be_replaced(cache: Cache) -> None:
    cache.put_facts(digest_of(b"a"), "package", b"old")
    cache.put_facts(digest_of(b"a"), "package", b"new")

    assert cache.get_facts(digest_of(b"a"), "package") == b"new"


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:-1], lambda data: data + b"x", lambda data: b"0" + data[1:], lambda _: b""],
    ids=["shorter", "longer", "other checksum", "empty"],
)
def test_damaged_facts_are_removed(cache: Cache, folder: Path, damage: Callable[[bytes], bytes]) -> None:
    cache.put_facts(digest_of(b"a"), "package", b"facts")
    path = facts_file(folder, digest_of(b"a"), "package")
    path.write_bytes(damage(path.read_bytes()))

    assert cache.get_facts(digest_of(b"a"), "package") is None
    assert files_in(folder) == []


def test_facts_about_one_digest_do_not_pass_for_those_about_another(cache: Cache, folder: Path) -> None:
    cache.put_facts(digest_of(b"a"), "package", b"about a")
    cache.put_facts(digest_of(b"b"), "package", b"about b")
    facts_file(folder, digest_of(b"a"), "package").rename(facts_file(folder, digest_of(b"b"), "package"))

    assert cache.get_facts(digest_of(b"b"), "package") is None


@pytest.mark.parametrize("kind", ["", "../x", "a/b", "A", "x" * 33, "a.b"])
def test_only_a_plain_word_is_a_kind_of_facts(cache: Cache, kind: str) -> None:
    with pytest.raises(ValueError, match="not a kind of facts"):
        cache.put_facts(digest_of(b"a"), kind, b"")


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({"XPLOCK_CACHE_DIR": "{}/a", "XDG_CACHE_HOME": "{}/b", "HOME": "{}/c"}, "a"),
        ({"XDG_CACHE_HOME": "{}/b", "HOME": "{}/c"}, "b/xplock"),
        ({"XDG_CACHE_HOME": "", "HOME": "{}/c"}, "c/.cache/xplock"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "{}/c"}, "c/.cache/xplock"),
        ({"HOME": "{}/c"}, "c/.cache/xplock"),
    ],
)
def test_the_environment_names_the_folder_of_the_cache(
    tmp_path: Path, variables: dict[str, str], place: str
) -> None:
    environ = {name: text.format(tmp_path) for name, text in variables.items()}

    digest = add(open_cache(environ, Limits(), no_warning), CONTENT)

    assert blob_file(tmp_path / place, digest).exists()


def test_an_empty_setting_means_no_cache_and_no_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cache = open_cache({"XPLOCK_CACHE_DIR": "", "HOME": str(tmp_path)}, Limits(), no_warning)

    assert_does_nothing(cache)
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "relative"}])
def test_without_a_home_there_is_no_cache_and_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    warnings: list[str] = []

    assert_does_nothing(open_cache(environ, Limits(), warnings.append))

    assert len(warnings) == 1
    assert "XPLOCK_CACHE_DIR" in warnings[0]
    assert files_in(tmp_path) == []


def test_a_file_in_the_place_of_the_folder_is_one_warning(folder: Path) -> None:
    folder.write_text("mine")
    warnings: list[str] = []

    assert_does_nothing(Cache(folder, Limits(), warnings.append))

    assert len(warnings) == 1
    assert str(folder) in warnings[0]
    assert folder.read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_one_warning(folder: Path) -> None:
    folder.mkdir()
    (folder / "blobs").write_text("mine")
    (folder / "facts").write_text("mine")
    warnings: list[str] = []

    assert_does_nothing(Cache(folder, Limits(), warnings.append))

    assert len(warnings) == 1


def test_a_full_disk_is_one_warning_and_stored_files_stay_readable(folder: Path) -> None:
    warnings: list[str] = []
    cache = Cache(folder, Limits(), warnings.append)
    small = add(cache, CONTENT)

    with largest_file(100_000):
        large = [add(cache, LARGE), add(cache, LARGE + b"y")]

    later = add(cache, b"later")

    assert len(warnings) == 1
    assert [read(cache, digest) for digest in (*large, later)] == [None] * 3
    assert read(cache, small) == CONTENT
    assert files_in(folder) == [small.removeprefix("sha256:")]


def test_a_blob_larger_than_the_whole_cache_is_not_kept(folder: Path) -> None:
    cache = Cache(folder, Limits(cache_bytes=1_000), no_warning)

    small, large = add(cache, b"x" * 500), add(cache, b"x" * 1_001)

    assert read(cache, large) is None
    assert read(cache, small) == b"x" * 500


def test_only_the_owner_can_read_stored_files(cache: Cache, folder: Path) -> None:
    before = os.umask(0)
    try:
        digest = add(cache, CONTENT)
        cache.put_facts(digest, "package", b"facts")
    finally:
        os.umask(before)

    modes = {(path.is_dir(), path.stat().st_mode & 0o777) for path in [folder, *folder.rglob("*")]}

    assert modes == {(True, 0o700), (False, 0o600)}


def test_a_link_to_the_cache_folder_is_fine(cache: Cache, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    folder.symlink_to(tmp_path / "real")

    assert read(cache, add(cache, CONTENT)) == CONTENT


def test_a_link_in_the_place_of_a_blob_is_not_followed(cache: Cache, folder: Path, tmp_path: Path) -> None:
    digest = add(cache, CONTENT)
    outside = tmp_path / "outside"
    blob_file(folder, digest).rename(outside)
    blob_file(folder, digest).symlink_to(outside)

    assert cache.get_blob(digest) is None
    assert outside.read_bytes() == CONTENT
    assert files_in(folder) == []


def test_a_link_in_the_place_of_an_inner_folder_is_not_followed(folder: Path, tmp_path: Path) -> None:
    digest = add(Cache(folder, Limits(), no_warning), CONTENT)
    (folder / "blobs").rename(tmp_path / "outside")
    (folder / "blobs").symlink_to(tmp_path / "outside")
    warnings: list[str] = []
    cache = Cache(folder, Limits(cache_bytes=1), warnings.append)

    assert cache.get_blob(digest) is None
    add(cache, b"y")
    cache.trim()

    assert len(warnings) == 1
    assert files_in(tmp_path / "outside") == [digest.removeprefix("sha256:")]


def test_a_pipe_in_the_place_of_a_blob_is_not_waited_for(cache: Cache, folder: Path) -> None:
    digest = add(cache, CONTENT)
    blob_file(folder, digest).unlink()
    os.mkfifo(blob_file(folder, digest))
    pipe = os.open(blob_file(folder, digest), os.O_RDWR)

    found = cache.get_blob(digest)

    os.close(pipe)
    assert found is None


def test_a_folder_in_the_place_of_a_blob_is_no_blob(cache: Cache, folder: Path) -> None:
    digest = add(cache, CONTENT)
    blob_file(folder, digest).unlink()
    blob_file(folder, digest).mkdir()

    assert cache.get_blob(digest) is None


def test_a_folder_that_others_may_write_to_is_not_trusted(folder: Path) -> None:
    Cache(folder, Limits(), no_warning).put_facts(digest_of(b"a"), "package", b"facts")
    (folder / "facts").chmod(0o777)
    warnings: list[str] = []

    assert Cache(folder, Limits(), warnings.append).get_facts(digest_of(b"a"), "package") is None
    assert len(warnings) == 1


def test_a_folder_of_somebody_else_is_not_trusted(folder: Path) -> None:
    Cache(folder, Limits(), no_warning).put_facts(digest_of(b"a"), "package", b"facts")
    os.chown(folder / "facts", 12_345, -1)
    warnings: list[str] = []

    assert Cache(folder, Limits(), warnings.append).get_facts(digest_of(b"a"), "package") is None
    assert len(warnings) == 1


def assert_does_nothing(cache: Cache) -> None:
    digest = add(cache, CONTENT)
    cache.put_facts(digest, "package", b"facts")

    assert cache.get_blob(digest) is None
    assert cache.get_facts(digest, "package") is None
    cache.trim()


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let every write past this size fail, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_many_processes_can_add_one_blob_at_once(folder: Path, cache: Cache) -> None:
    digest = digest_of(LARGE)
    crowd = [start(CROWD, folder, digest) for _ in range(4)]

    for process in crowd:
        process.stdin.write(b"go\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
    for process in crowd:
        process.communicate()

    assert [process.returncode for process in crowd] == [0] * 4
    assert read(cache, digest) == LARGE
    assert files_in(folder) == [digest.removeprefix("sha256:")]


def test_many_threads_can_add_read_and_trim_at_once(folder: Path) -> None:
    cache = Cache(folder, Limits(cache_bytes=20_000), no_warning)
    blobs = [bytes([i]) * 1_000 for i in range(40)]
    wrong: list[bytes | None] = []

    def work() -> None:
        for blob in blobs:
            found = read(cache, add(cache, blob))
            cache.put_facts(digest_of(blob), "package", blob)
            facts = cache.get_facts(digest_of(blob), "package")
            # Another thread may have trimmed it away already, but nothing else may be there.
            wrong.extend(bytes_ for bytes_ in (found, facts) if bytes_ not in (None, blob))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert [name for name in files_in(folder) if name.startswith("tmp-")] == []


@pytest.mark.parametrize("blocks", range(5))
def test_a_writer_that_is_killed_leaves_nothing_that_can_be_seen(
    folder: Path, cache: Cache, blocks: int
) -> None:
    digest = digest_of(LARGE)
    with start(WRITER, folder, digest) as process:
        assert process.stdin and process.stdout
        for _ in range(blocks):
            process.stdout.readline()
            process.stdin.write(b"\n")
            process.stdin.flush()
        assert process.stdout.readline() == b"asked\n"
        process.kill()

    assert cache.get_blob(digest) is None
    assert all(name.startswith("tmp-") for name in files_in(folder))
    assert read(cache, add(cache, LARGE)) == LARGE


def test_a_process_killed_at_any_moment_leaves_only_whole_blobs(folder: Path, cache: Cache) -> None:
    for tries in range(5):
        with start(ENDLESS, folder) as process:
            assert process.stdout
            for _ in range(3 + tries):
                process.stdout.readline()
            process.kill()

    blobs = [name for name in files_in(folder) if not name.startswith("tmp-")]

    assert len(blobs) >= 7
    assert all(read(cache, Digest(f"sha256:{name}")) for name in blobs)


def test_the_least_recently_used_file_is_removed_first(folder: Path) -> None:
    cache = Cache(folder, Limits(), no_warning)
    blobs = [add(cache, bytes([i]) * 100) for i in range(4)]
    for i, digest in enumerate(blobs):
        age(blob_file(folder, digest), HOUR * (10 - i))
    read(cache, blobs[0])

    Cache(folder, Limits(cache_bytes=250), no_warning).trim()

    assert [read(cache, digest) is not None for digest in blobs] == [True, False, False, True]


def test_using_facts_keeps_them(folder: Path) -> None:
    cache = Cache(folder, Limits(), no_warning)
    facts = [digest_of(bytes([i])) for i in range(3)]
    for i, digest in enumerate(facts):
        cache.put_facts(digest, "package", b"x" * 1_000)
        age(facts_file(folder, digest, "package"), HOUR * (10 - i))
    cache.get_facts(facts[0], "package")

    Cache(folder, Limits(cache_bytes=1_500), no_warning).trim()

    assert [facts_file(folder, digest, "package").exists() for digest in facts] == [True, False, False]


def test_facts_of_an_older_version_go_like_everything_else(cache: Cache, folder: Path) -> None:
    digest = add(cache, CONTENT)
    cache.put_facts(digest, "package", b"x" * 1_000)
    age(facts_file(folder, digest, "package"), HOUR)
    (folder / "facts/1").rename(folder / "facts/0")

    Cache(folder, Limits(cache_bytes=1_500), no_warning).trim()

    assert files_in(folder / "facts") == []
    assert read(cache, digest) == CONTENT


def test_within_the_bound_everything_stays(folder: Path) -> None:
    cache = Cache(folder, Limits(cache_bytes=400), no_warning)
    for i in range(4):
        age(blob_file(folder, add(cache, bytes([i]) * 100)), 1_000 * HOUR)

    cache.trim()

    assert len(files_in(folder)) == 4


def test_a_blob_in_use_can_be_read_to_its_end_after_it_was_trimmed(cache: Cache, folder: Path) -> None:
    file = cache.get_blob(add(cache, CONTENT))

    Cache(folder, Limits(cache_bytes=1), no_warning).trim()

    assert file is not None
    with file:
        assert file.read() == CONTENT
    assert files_in(folder) == []


def test_only_temporary_files_older_than_an_hour_are_removed(cache: Cache, folder: Path) -> None:
    inner = blob_file(folder, add(cache, CONTENT)).parent
    stale, fresh = inner / f"tmp-{'0' * 16}", inner / f"tmp-{'1' * 16}"
    for path, seconds in ((stale, HOUR + 60), (fresh, HOUR - 60)):
        path.write_bytes(b"half")
        age(path, seconds)

    cache.trim()

    assert (stale.exists(), fresh.exists()) == (False, True)


def test_files_that_are_not_ours_are_left_alone(folder: Path) -> None:
    cache = Cache(folder, Limits(cache_bytes=1), no_warning)
    (folder / "blobs").mkdir(parents=True, mode=0o700)
    strangers = [folder / "letter.txt", folder / "blobs/letter.txt", folder / "blobs/tmp-letter"]
    for path in strangers:
        path.write_bytes(b"mine")
        age(path, 1_000 * HOUR)

    cache.trim()

    assert [path.read_bytes() for path in strangers] == [b"mine"] * 3


def test_trimming_does_not_follow_links(cache: Cache, folder: Path, tmp_path: Path) -> None:
    inner = blob_file(folder, add(cache, CONTENT)).parent
    inner.rename(tmp_path / "outside")
    inner.symlink_to(tmp_path / "outside")

    Cache(folder, Limits(cache_bytes=1), no_warning).trim()

    assert len(files_in(tmp_path / "outside")) == 1


def test_a_long_run_keeps_the_bound_by_itself(folder: Path) -> None:
    cache = Cache(folder, Limits(cache_bytes=8_000), no_warning)

    for i in range(100):
        add(cache, bytes([i]) * 500)

    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) <= 9_000


def test_trimming_an_absent_cache_makes_nothing(cache: Cache, folder: Path) -> None:
    cache.trim()

    assert not folder.exists()
