#!/bin/sh
# Builds every example package into examples/registry, an OCI layout that stands in for xpkg.example.org, its mirror, and
# the registry where everything was before.
set -eu
cd "$(dirname "$0")"
for folder in packages/*/*/*; do
    name=${folder#packages/}
    reference="${name%/*}:${name##*/}"
    set --
    # A package of the first format is converted; its runtime config and its permissions are manifests.
    if [ -d "$folder/.registry" ]; then
        set -- --source xpkg.example.org --manifests "converted/${name%/*}"
    fi
    xplock -q package build "$folder" --to registry "$@" \
        -t "xpkg.example.org/$reference" -t "mirror.example.org/xpkg/$reference" -t "old.example.org/$reference" >/dev/null
    echo "xpkg.example.org/$reference"
done
