"""The fixed parts of Crossplane's messages: whole texts differ between releases, so they decide only after the fields."""

import re

from render.names import is_dns_name

# A package repeats the message of its revision behind this.
QUOTED_REVISION = "with message: "

GRAPH_BROKEN = ("cannot initialize dependency graph", "cannot build DAG", "already exists")
CYCLE = "cannot sort DAG"
NOT_PULLED = ("cannot unpack package", "cannot get package")
WRONG_CROSSPLANE = "incompatible Crossplane version"
WRONG_CONTENT = ("validating package contents failed", "package meta type is not", "multiple meta types")
MISSING = ("missing dependencies", "missing node in tree")
NO_VERSION = (
    "does not have a valid version",
    "improper constraint",
    "cannot fetch dependency package tags",
    "dependency package is not valid",
)
INCOMPATIBLE = ("incompatible dependencies", "is incompatible with constraint")
NO_SEMVER = ("invalid semantic version", "Invalid Semantic Version")
CONTROL = "cannot establish control of object"
CONTROLLED = "is already controlled by"
STORED_VERSIONS = "status.storedVersions"
WEBHOOK = (
    "waiting for package runtime controller",
    "cannot get webhook tls secret",
    "without having a TLS bundle",
)
NO_RUNTIME_CONFIG = "cannot get referenced deployment runtime config"
DEPLOYMENT = ("package deployment is unavailable", 'no condition of type "Available"')
NOT_HEALTHY_YET = "Package revision is not healthy yet"
FOREIGN_REVISION = ("cannot apply package revision", "not controlled by UID")
INACTIVE = "Package is inactive"
AWAITING = "AwaitingActivation"

_LISTED = re.compile(r"missing dependencies: \[([^\]]{1,10000})\]")
_NAMED = re.compile(r'"([^"\s]{1,512})"')
_CONTROL = re.compile(
    r"(?:object: )?(?P<object>[^\s:]{1,253}) is already controlled by (?P<kind>\w{1,63}) (?P<name>[^\s(]{1,253})"
    r"(?: \(UID (?P<uid>[^)\s]{1,64})\))?"
)
_DEFINITION = re.compile(r'"?(?P<name>[a-z0-9.-]{1,253})"? is invalid: [^:]{0,100}status\.storedVersions')
_DEPENDENCY = re.compile(r"dependency \((?P<source>[^)\s]{1,512})\)")
_CONFIG = re.compile(r'"(?P<name>[a-z0-9.-]{1,253})" not found')

# What a registry or the network said, and what it means; the first that fits counts.
PULL_CAUSES = (
    (("401", "UNAUTHORIZED", "unauthorized", "403", "DENIED", "denied", "Forbidden"), "credentials"),
    (("x509", "certificate"), "certificate"),
    (("404", "MANIFEST_UNKNOWN", "NAME_UNKNOWN", "manifest unknown", "not found"), "gone"),
    (("no such host", "connection refused", "dial tcp", "i/o timeout", "deadline exceeded"), "network"),
    (("could not parse reference", "cannot parse package reference"), "reference"),
)


def names_in(message: str) -> list[str]:
    """Return the quoted sources of a message; of more than three it names only some."""
    # Older releases list them in brackets, without quotes.
    listed = _LISTED.search(message)
    return listed[1].split() if listed else _NAMED.findall(message)


def find_control(message: str) -> re.Match[str] | None:
    """Return object, kind, name and uid out of a message about control; None if its names cannot be those of objects."""
    match = _CONTROL.search(message)
    return match if match and is_dns_name(match["object"]) and is_dns_name(match["name"]) else None


def find_definition(message: str) -> str:
    """Return the definition that the API server refused; empty if the message names none."""
    return _name_in(_DEFINITION.search(message))


def find_dependency(message: str) -> str:
    """Return the dependency that the resolver could not serve; empty if the message names none."""
    match = _DEPENDENCY.search(message)
    return match["source"] if match else ""


def find_config(message: str) -> str:
    """Return the object that was not found; empty if the message names none."""
    return _name_in(_CONFIG.search(message))


def pull_cause(message: str) -> str:
    """Return why an image cannot be pulled, in a word; empty if the message does not tell."""
    return next((cause for parts, cause in PULL_CAUSES if any(part in message for part in parts)), "")


def _name_in(match: re.Match[str] | None) -> str:
    # It becomes a word of a command, where one with a dash in front would be an option.
    return match["name"] if match and is_dns_name(match["name"]) else ""
