"""Signing commits as git is configured to, with programs that the user or the operator chose.

The configuration of a repository may ask for signatures (`commit.gpgSign`), but must not name the program that makes
them: an attacker who wrote `.git/config` could run any program.
"""

from collections.abc import Iterator, Sequence

from render.git.repository import Repository

_OWN_SCOPES = ("local", "worktree")
# Keys that name programs, and the program that is run without them. The first two mean the same, and the last one
# makes git fail if the repository alone sets it.
_PROGRAMS = (
    (("gpg.program", "gpg.openpgp.program"), "gpg"),
    (("gpg.x509.program",), "gpgsm"),
    (("gpg.ssh.program",), "ssh-keygen"),
    (("gpg.ssh.defaultkeycommand",), "false"),
)


def signs_commits(repository: Repository) -> bool:
    """Return whether git's configuration asks for signed commits."""
    answer = repository.ask("config", "--type=bool", "--get", "commit.gpgSign")
    return answer.output.strip() == b"true"


def signing_options(repository: Repository) -> tuple[str, ...]:
    """Return options that replace programs of the repository's own configuration."""
    output = repository.run("config", "--list", "--show-scope", "-z").decode(errors="replace")
    words = output.split("\0")[:-1]
    entries = [
        (scope, *entry.partition("\n")[::2]) for scope, entry in zip(words[::2], words[1::2], strict=True)
    ]
    return tuple(_replacements(entries))


def _replacements(entries: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    for keys, usual in _PROGRAMS:
        named = [(scope, value) for scope, key, value in entries if key in keys]
        if any(scope in _OWN_SCOPES for scope, _ in named):
            trusted = [value for scope, value in named if scope not in _OWN_SCOPES]
            yield from ("-c", f"{keys[0]}={trusted[-1] if trusted else usual}")
