"""Rules about ImageConfigs with verification: each names a signer, and none is lost behind a rewrite."""

from collections.abc import Iterator, Mapping

from render.checks.model import Checked, CheckedFolder, Finding, Place
from render.checks.positions import lock_place, read_marked_place
from render.errors import InvalidInput, RenderError
from render.inputs.folders import list_yaml_files
from render.inputs.projects import Inputs
from render.lean import Any
from render.limits import Limits
from render.signatures.image_configs import ImageConfigs, has_rules
from render.signatures.rules import Authority, Rule
from render.system.boundary import real_path
from render.texts import first_lines

_SHOWN = 20


def rule_accepts_anyone(checked: Checked) -> Iterator[Finding]:
    """A rule for signatures accepts signers that it does not name."""
    for one in checked.folders:
        for rule in _rules(one):
            lines = list(_open_ways(rule))
            if lines:
                yield Finding(
                    "rule-accepts-anyone",
                    one.name,
                    f"ImageConfig {rule.name} accepts signers that it does not name",
                    tuple(first_lines(lines, _SHOWN)),
                    ("give each authority a key, or identities with an issuer and a subject",),
                    InvalidInput.exit_code,
                    _place(one, rule.name),
                )


def verification_lost(checked: Checked) -> Iterator[Finding]:
    """A rule for signatures matches where a package comes from, and none matches where it is pulled from."""
    for one in checked.folders:
        lines = list(_lost(one, checked))
        if lines:
            yield Finding(
                "verification-lost",
                one.name,
                "packages are installed unverified, since a rewrite leads them away from their rule",
                tuple(first_lines(lines, _SHOWN)),
                (
                    "add a rule for where they are pulled from; for a mirror, the command that fills it prints one",
                ),
                InvalidInput.exit_code,
                lock_place(one),
            )


def note_open_expressions(one: CheckedFolder) -> Iterator[str]:
    """Yield a note for each expression of a rule that fits longer names as well."""
    rules = _rules(one)
    if not rules:
        return
    # Imported late: most folders have no rule for signatures.
    from render.signatures.expressions.matching import open_ends

    for rule in rules:
        for authority in rule.authorities:
            for text in dict.fromkeys(_expressions(authority)):
                advice = open_ends(text)
                if advice:
                    yield f"ImageConfig {rule.name}: the expression {text} fits longer names as well; {', and '.join(advice)}"


def _expressions(authority: Authority) -> Iterator[str]:
    for identity in authority.identities:
        yield from filter(None, (identity.issuer_expression, identity.subject_expression))


def _rules(one: CheckedFolder) -> list[Rule]:
    """Return the rules in a folder's own files, each once."""
    if not isinstance(one.inputs, Inputs):
        return []
    return list({rule.name: rule for _, rule in ImageConfigs.of(one.inputs.passthrough).rules}.values())


def _open_ways(rule: Rule) -> Iterator[str]:
    if not rule.authorities and not rule.broken:
        yield "it has no authorities, and so accepts unsigned images as well"
    # Imported late: most folders have no rule for signatures.
    from render.signatures.identities import missing_names

    for authority in rule.authorities:
        if authority.key is None and not authority.identities:
            yield f"authority {authority.name} has neither a key nor identities"
        elif authority.key is None:
            open_ones = [missing for one in authority.identities if (missing := missing_names(one))]
            if open_ones:
                yield f"authority {authority.name} has an identity that fits every {' and every '.join(open_ones[0])}"


def _lost(one: CheckedFolder, checked: Checked) -> Iterator[str]:
    lock = one.fresh_lock
    if lock is None or isinstance(one.objects, RenderError):
        return
    objects = [*one.objects, *_used_objects(one, checked)]
    # Most folders have no rule, and so need no rewrite either.
    if not has_rules(objects):
        return
    configs = ImageConfigs.of(objects)
    for package in lock.installed():
        reference = package.cluster_reference
        pulled = configs.resolve(reference)
        lost = configs.find_rules(reference)
        if lost and not configs.find_rules(pulled):
            yield f"{reference} is pulled as {pulled}, where ImageConfig {lost[0].name} does not match"


def _used_objects(one: CheckedFolder, checked: Checked) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of the checked folders that one uses: ImageConfigs count in the whole cluster."""
    if not isinstance(one.inputs, Inputs) or not one.inputs.settings.uses:
        return
    used = {real_path(path) for _, path in one.inputs.settings.uses}
    for other in checked.folders:
        if other.path in used and isinstance(other.inputs, Inputs):
            yield from other.inputs.passthrough


def _place(one: CheckedFolder, name: str) -> Place:
    """Return the line that names an ImageConfig."""
    for file in list_yaml_files(one.folder, Limits()):
        for mark in (f"name: {name}\n", f'"name": "{name}"'):
            found = read_marked_place(one.folder / file, mark)
            if found.line > 1:
                return found
    return lock_place(one)
