"""The keys of `policy`, in xplock.yaml and in the operator's file."""

from render.inputs.settings.table import Choice, Entries, Group, Key, Text, Texts

_UNKNOWN = ("warn", "refuse", "allow")
_SOURCE = Key("source", Text(), "The source of the package.", required=True)

POLICY = Key(
    "policy",
    Group(
        (
            Key(
                "sources",
                Group(
                    (
                        Key(
                            "allow",
                            Texts(Text()),
                            "Registries, or paths in them; packages come from nowhere else.",
                        ),
                        Key(
                            "deny",
                            Entries(
                                (
                                    Key("prefix", Text(), "A registry, or a path in one.", required=True),
                                    Key("reason", Text(), "Shown to those who ask for it.", required=True),
                                )
                            ),
                            "What no package comes from, even if it is allowed, too.",
                        ),
                    )
                ),
                "Where packages come from. Nothing is asked of other places.",
            ),
            Key(
                "licences",
                Group(
                    (
                        Key(
                            "allow",
                            Texts(Text()),
                            "Licences by their SPDX names; they have to be enough for the package's own expression.",
                            examples=("Apache-2.0",),
                        ),
                        Key(
                            "unknown",
                            Choice(_UNKNOWN, default="warn"),
                            "What to do with a package that names no licence, or one that is no SPDX expression.",
                        ),
                        Key(
                            "clarify",
                            Entries(
                                (
                                    _SOURCE,
                                    Key(
                                        "licence",
                                        Text(),
                                        "Its licence, as an SPDX expression.",
                                        required=True,
                                    ),
                                )
                            ),
                            "Licences of packages that name none, or a wrong one.",
                        ),
                    )
                ),
                "Which licences packages have, in their own words.",
            ),
            Key(
                "age",
                Group(
                    (
                        Key(
                            "minimum",
                            Text(),
                            "How long ago a version must have been released: hours, days or weeks.",
                            required=True,
                            examples=("7d", "36h"),
                        ),
                        Key(
                            "times",
                            Choice(("claimed", "proven"), default="claimed"),
                            "claimed: what the package says. proven: since when a signature log has a signature of it, "
                            "which needs a trusted root and the extra verify.",
                        ),
                        Key(
                            "unknown",
                            Choice(_UNKNOWN, default="refuse"),
                            "What to do with a version without such a time, or with an impossible one.",
                        ),
                        Key(
                            "exempt",
                            Texts(Text()),
                            "Registries, or paths in them, whose packages may be of any age.",
                        ),
                    )
                ),
                "How old a version has to be before it is locked. What is locked already stays.",
            ),
            Key(
                "provenance",
                Group(
                    (
                        Key(
                            "require",
                            Choice(("signature", "attestation"), default="signature"),
                            "What a signer must have made of a package: a signature, or an attestation.",
                        ),
                        Key(
                            "signers",
                            Entries(
                                (
                                    Key(
                                        "key",
                                        Text(),
                                        "A public key in PEM form, or its fingerprint (sha256:…) if a log has its signatures.",
                                    ),
                                    Key(
                                        "issuer",
                                        Text(),
                                        "Who identified the signer, as certificates have it.",
                                    ),
                                    Key(
                                        "subject",
                                        Text(),
                                        "The signer, as certificates have it; a star stands for any text.",
                                        examples=(
                                            "https://github.com/acme/provider/.github/workflows/release.yml@*",
                                        ),
                                    ),
                                )
                            ),
                            "Who is believed; one of them is enough. Each has a key, or an issuer and a subject.",
                            required=True,
                        ),
                        Key(
                            "predicates",
                            Texts(Text()),
                            "Types of attestations, of which one is enough: short names as cosign has them, or URIs.",
                            examples=("slsaprovenance1",),
                        ),
                    )
                ),
                "Who must have signed packages. This needs the extra verify, and for certificates a trusted root.",
            ),
            Key(
                "exceptions",
                Entries(
                    (
                        _SOURCE,
                        Key("version", Text(), "Its tag or digest; without it, every version."),
                        Key(
                            "rule",
                            Choice(("sources", "licences", "age", "provenance")),
                            "The rule that does not apply to it.",
                            required=True,
                        ),
                        Key("reason", Text(), "Why, for reviewers.", required=True),
                    )
                ),
                "Packages that a rule does not apply to.",
            ),
        )
    ),
    "Which packages are allowed. A version that is not allowed is passed over; the operator may have a policy of their "
    "own, and both have to allow it.",
)
