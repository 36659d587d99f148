#!/bin/sh
# Builds every example package into examples/registry, an OCI layout that stands in for xpkg.example.org.
set -eu
cd "$(dirname "$0")"
for folder in packages/*/*/*; do
    name=${folder#packages/}
    xplock -q package build "$folder" --to registry -t "xpkg.example.org/${name%/*}:${name##*/}"
done
