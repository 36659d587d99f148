"""The keys of xplock.yaml: the parser and the JSON Schema both come from this table."""

from render.inputs.policies.keys import POLICY
from render.inputs.settings.entries import MOVES, OVERRIDES
from render.inputs.settings.table import Choice, Entries, Flag, Group, Key, Text, Texts
from render.mirrors import BARE, FULL
from render.names import DNS_LABEL, DNS_LABEL_MEANING, DNS_NAME
from render.settings import Detach, Families, PartialDependencies, PinMode, Waves

KEYS = (
    Key(
        "roots",
        Entries(
            (
                Key(
                    "package",
                    Text(),
                    "The package with its registry; a tag means exactly this version, a digest exactly these bytes, "
                    "without both, any version that all dependants accept.",
                    required=True,
                    examples=("xpkg.example.org/acme/provider-nop:v0.4.0",),
                ),
                Key(
                    "version",
                    Text(),
                    "The versions to choose from, as a range; excludes a tag or digest in package.",
                    examples=(">=v1.2.0, <v2.0.0", "^1.2"),
                ),
                Key(
                    "name",
                    Text(DNS_LABEL, DNS_LABEL_MEANING),
                    "The name of the object; without it, the one that Crossplane would give a dependency.",
                ),
            )
        ),
        "Packages to install, besides those that manifests in the folder ask for.",
    ),
    Key(
        "rewrites",
        Entries(
            (
                Key("from", Text(), "The beginning of an image reference, as plain text.", required=True),
                Key("to", Text(), "The text that replaces it.", required=True),
            )
        ),
        "ImageConfig rewrites that exist in the cluster and not in this folder; the longest match wins.",
    ),
    Key(
        "moves",
        MOVES,
        "Sources that were replaced by others. A move applies to the installed package and to dependencies on the old "
        "source; chains are followed to their end.",
    ),
    Key(
        "uses",
        Texts(Text()),
        "Other folders of the same cluster, relative to this file, such as ../platform; their locked "
        "packages are taken as given.",
    ),
    Key(
        "environments",
        Texts(Text()),
        "The folders of environments in the order in which versions are promoted, relative to this file, which is above "
        "all of them and asks for nothing itself.",
        examples=("dev", "staging", "production"),
    ),
    Key(
        "crossplaneVersion",
        Text(),
        "The version of Crossplane in the cluster; every package has to accept it, and every setting has to fit it.",
        examples=("v2.3.4",),
    ),
    Key(
        "families",
        Choice(tuple(Families), default=Families.FOLLOW),
        "follow: a family package has the major version of its members. "
        "free: the highest version that its dependants accept, as Crossplane chooses.",
    ),
    Key(
        "partialDependencies",
        Choice(tuple(PartialDependencies), default=PartialDependencies.COMPLETE),
        "complete: a dependency without a registry gets that of its dependant. refuse: it is an error.",
    ),
    Key(
        "overrides",
        OVERRIDES,
        "Fields for the manifests of many packages. A field in a manifest itself wins; for each field, the entry with "
        "the longest prefix wins.",
    ),
    Key(
        "pin",
        Choice(tuple(PinMode), default=PinMode.DIGEST),
        "digest: packages have tags, and ImageConfigs pin each tag to its locked digest; for Crossplane v2.2 or "
        "newer. tag: packages have tags that are not pinned. native: packages have digests.",
    ),
    Key(
        "detach",
        Choice(tuple(Detach), default=Detach.NEEDED),
        "needed: Crossplane checks the dependencies of a package itself, unless its check would fail where that of "
        "xplock holds. all: it checks none.",
    ),
    Key(
        "guard",
        Flag(default=True),
        "true: packages are not pruned, and a package that is no longer required stays until it is retired. "
        "false: neither.",
    ),
    Key(
        "waves",
        Choice(tuple(Waves), default=Waves.FLAT),
        "flat: pins and runtime configs are applied first, then everything else. graph: dependencies also before "
        "their dependants, which needs a health check of your own for packages.",
    ),
    Key(
        "overlay",
        Text(),
        "A folder with a kustomization that is applied to the rendered manifests, relative to this file.",
        examples=("overlays/production",),
    ),
    Key(
        "catalog",
        Entries(
            (
                Key(
                    "source",
                    Text(),
                    "A source, with its registry and without tag and digest.",
                    examples=("xpkg.example.org/acme/provider-nop",),
                ),
                Key(
                    "version", Text(), "The versions of it to choose from, as a range.", examples=("<v2.0.0",)
                ),
                Key(
                    "file",
                    Text(),
                    "A file of this folder that `xplock catalog build` wrote.",
                    examples=("catalog.yaml",),
                ),
            )
        ),
        "Where to look for packages that define a CRD which another package or you ask for, and no locked package "
        "defines. An entry has a source or a file. No registry is ever searched.",
    ),
    Key(
        "layouts",
        Entries(
            (
                Key("prefix", Text(), "A registry, or a path in one.", required=True),
                Key("folder", Text(), "The OCI layout, relative to this file.", required=True),
            )
        ),
        "OCI layouts on disk that are read instead of registries; the longest match wins.",
    ),
    Key(
        "mirror",
        Group(
            (
                Key(
                    "to",
                    Text(),
                    "A registry, or a path in one.",
                    required=True,
                    examples=("mirror.example.org/xp",),
                ),
                Key(
                    "paths",
                    Choice((FULL, BARE), default=FULL),
                    "full: paths in it begin with the original host. bare: they do not.",
                ),
                Key(
                    "pullSecret",
                    Text(DNS_NAME, "the name of a secret: lower-case letters, digits, '-' and '.'"),
                    "The secret in Crossplane's namespace that it pulls with.",
                ),
            )
        ),
        "A registry with copies of everything that is locked. Crossplane pulls from there: pins lead to it, and "
        "ImageConfigs for it are rendered. Packages are still fetched from where they come from.",
    ),
    POLICY,
)
