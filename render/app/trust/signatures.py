"""Signatures of locked packages, judged as Crossplane will judge them by the rules of the folder."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from render.app.mirroring.ends import open_origin
from render.app.operator_settings import OperatorSettings
from render.app.reporter import Reporter
from render.app.world import World, open_world
from render.errors import InvalidInput, RenderError
from render.folders.members import Member, find_used, read_members
from render.inputs.projects import Inputs, read_inputs
from render.limits import LimitExceeded
from render.lock.freshness import require_consistent_lock
from render.lock.model import Lock, LockedPackage
from render.manifests.objects import render_lock
from render.references import Digest, InvalidReference, Reference, Source, parse_reference
from render.registry.copying.model import Origin
from render.registry.oci import Content, Descriptor
from render.registry.routes import Images
from render.rewrites import InvalidRewrite, Rewrite
from render.signatures.image_configs import ImageConfigs, has_rules
from render.signatures.keyrings import SecretKey, read_keyring
from render.system.boundary import real_path
from render.system.files import read_plain
from render.texts import counted, first_lines

if TYPE_CHECKING:
    # Imported late: cryptography is an extra.
    from render.lock.online.signatures import Judged
    from render.signatures.verdicts import Judge

Layouts = Sequence[tuple[str, Path]]
_SHOWN = 20


class MissingLibrary(RenderError):
    """Signatures have to be verified, and the extra for that is not installed."""


class NotAccepted(RenderError):
    """Packages that Crossplane will not install, or that could not be judged."""


class SignatureMode(StrEnum):
    """What `verify` does about signatures."""

    # Packages that a rule matches are judged.
    RULES = "rules"
    # Every package has to match a rule.
    REQUIRE = "require"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class SignatureCall:
    """How signatures are judged."""

    mode: SignatureMode = SignatureMode.RULES
    # Files with public keys, instead of Secrets in the folder.
    keys: Mapping[SecretKey, Path] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JudgedFolder:
    """All packages of a folder that were judged."""

    folder: str
    judged: "Sequence[Judged]"


def judge_folders(
    folders: Sequence[Path],
    call: SignatureCall,
    layouts: Layouts,
    operator: OperatorSettings,
    reporter: Reporter,
) -> list[JudgedFolder]:
    """Judge the signatures of every installed package that a rule of its folder, or of a used one, matches."""
    if call.mode is SignatureMode.OFF:
        return []
    world = open_world(operator.without_cache(), reporter)
    found = []
    for folder in folders:
        with reporter.busy(f"reading the signatures of what {folder} has locked"):
            found.append(JudgedFolder(str(folder), _judge_folder(folder, call, layouts, world)))
    return found


def require_accepted(found: Iterable[JudgedFolder]) -> None:
    """Raise if Crossplane would not accept a package, or if that is not known."""
    wrong = [one for folder in found for one in folder.judged if one.judgement.trouble]
    if wrong:
        raise NotAccepted(
            f"the signatures of {counted(len(wrong), 'package')} are not accepted, or could not be judged",
            why=first_lines(
                sorted({f"{one.package.source}: {one.judgement.trouble}" for one in wrong}), _SHOWN
            ),
            next="see above what each one lacks; a Crossplane that verifies signatures would not install it",
        )


def _judge_folder(folder: Path, call: SignatureCall, layouts: Layouts, world: World) -> "list[Judged]":
    lock = require_consistent_lock(folder, world.limits)
    inputs = read_inputs(folder, world.limits, world.settings.environ, world.boundary)
    used = _read_used(inputs, world)
    packages = lock.installed()
    if not packages or not (call.mode is SignatureMode.REQUIRE or _may_have_rules(inputs, used)):
        return []
    objects = _objects(lock, inputs, used, world)
    configs = ImageConfigs.of(objects)
    wanted = [
        one for one in packages if call.mode is SignatureMode.REQUIRE or configs.match(one.cluster_reference)
    ]
    if not wanted:
        return []
    judge = _make_judge(objects, call, world)
    published = Published.open(world, [*layouts, *inputs.settings.layouts])
    work = _Work(configs, judge, published, world)
    with ThreadPoolExecutor(world.limits.parallel, thread_name_prefix="xplock-signatures") as pool:
        return list(pool.map(work.judge, wanted))


def _read_used(inputs: Inputs, world: World) -> list[Inputs]:
    """Return the inputs of all folders that one uses: ImageConfigs and Secrets belong to the whole cluster."""
    here = real_path(inputs.folder)
    members = read_members(
        {here: Member(inputs.folder, inputs.settings.uses)}, world.limits, boundary=world.boundary
    )
    folders = [members[path].folder for path in find_used(here, members)]
    return [read_inputs(one, world.limits, world.settings.environ, world.boundary) for one in folders]


def _may_have_rules(inputs: Inputs, used: Iterable[Inputs]) -> bool:
    # An overlay can add objects, and is only known when everything is rendered.
    return inputs.settings.overlay is not None or any(has_rules(one.passthrough) for one in (inputs, *used))


def _objects(lock: Lock, inputs: Inputs, used: Iterable[Inputs], world: World) -> list[Mapping[str, Any]]:
    rendered = render_lock(lock, inputs, world.limits, world.settings.environ)
    return [*rendered, *(value for one in used for value in one.passthrough)]


def _make_judge(objects: Sequence[Mapping[str, Any]], call: SignatureCall, world: World) -> "Judge":
    require_library()
    from render.signatures.trusted_root import read_trusted_root
    from render.signatures.verdicts import Judge

    given = {name: _read_key(name, file, world) for name, file in call.keys.items()}
    root = read_trusted_root(world.settings.environ, world.limits)
    return Judge(read_keyring(objects).replaced_by(given), root)


def require_library() -> None:
    """Raise if the extra for signatures is not installed."""
    try:
        import render.signatures.crypto.keys  # noqa: F401 - only whether it can be imported
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "cryptography":
            raise
        raise MissingLibrary(
            "signatures cannot be verified",
            why="a rule asks for them, and the library cryptography is not installed",
            next=["install the extra: pip install 'xplock[verify]'", "or leave them out: --signatures off"],
        ) from None


def _read_key(name: SecretKey, file: Path, world: World) -> str:
    data = read_plain(real_path(file), world.limits.public_key_bytes)
    if data is None:
        raise LimitExceeded(f"the file of --key {name} is too large", "public_key_bytes", world.limits)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise InvalidInput(
            f"{file} is not a public key", why="it is not text", next="name a file in PEM form"
        ) from None


@dataclass(frozen=True, slots=True)
class Published:
    """Images, and the lists of what refers to them."""

    images: Images
    origin: Origin

    @classmethod
    def open(cls, world: World, layouts: Layouts) -> "Published":
        """Open registries, and the layouts that stand in for them."""
        return cls(world.images(layouts), open_origin(world, layouts))

    def content(self, reference: Reference) -> Content:
        """Return a manifest or an index."""
        return self.images.content(reference)

    def blob(self, source: Source, descriptor: Descriptor) -> IO[bytes]:
        """Return a blob."""
        return self.images.blob(source, descriptor)

    def referrers(self, source: Source, digest: Digest, tags: Sequence[str]) -> Sequence[Digest]:
        """Return the manifests that refer to an image."""
        return self.origin.referrers(source, digest, tags)


@dataclass(frozen=True, slots=True)
class _Work:
    """Judges the packages of one folder."""

    configs: ImageConfigs
    judge_: "Judge"
    published: Published
    world: World

    def judge(self, package: LockedPackage) -> "Judged":
        from render.lock.online.signatures import Judged
        from render.signatures.reading import read_signatures
        from render.signatures.verdicts import Trouble

        resolved = self.configs.resolve(package.cluster_reference)
        place = _place(package, resolved, self.configs.rewrites.find(package.cluster_reference))
        reference = str(Reference(place, digest=package.digest))
        rules = self.configs.find_rules(resolved)
        found = read_signatures(self.published, place, package.digest, self.world.limits)
        judgement = self.judge_.judge(rules, found, package.digest)
        if judgement.trouble is Trouble.UNSIGNED and place != package.source:
            judgement = judgement.with_details(self._original(package, place))
        return Judged(package, reference, judgement)

    def _original(self, package: LockedPackage, place: Source) -> Iterator[str]:
        """Yield whether the signature was only left behind by a mirror."""
        from render.signatures.reading import read_signatures

        try:
            found = read_signatures(self.published, package.source, package.digest, self.world.limits)
        except RenderError:
            # The mirror may be there because the original cannot be reached.
            return
        if found.attached:
            yield f"{package.source} has a signature that is not in {place}: mirror it again"


def _place(package: LockedPackage, resolved: str, rewrite: Rewrite | None) -> Source:
    try:
        return parse_reference(resolved).source
    except InvalidReference as error:
        if rewrite is None:
            raise
        raise InvalidRewrite(rewrite, package.cluster_reference, error) from None
