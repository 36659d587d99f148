#!/bin/sh
# A tour: builds the example packages into a folder that stands in for a registry, looks at one, locks a project.
set -eu
cd "$(dirname "$0")"

run() {
    printf '\n$ %s\n' "$*"
    "$@"
}

echo '# Every folder below packages/ becomes a package in registry/, an OCI layout.'
sh build-packages.sh

printf '\n# What does the shop need, and what does it bring?\n'
run xplock package inspect xpkg.example.org/acme/configuration-shop:v1.0.0 --layout xpkg.example.org=registry

printf '\n# A project folder holds a manifest that asks for the shop. Lock everything that it needs:\n'
project=$(mktemp -d)
trap 'rm -rf "$project"' EXIT
cp shop/shop.yaml "$project"
printf 'layouts:\n  - prefix: xpkg.example.org\n    folder: %s\n' "$PWD/registry" >"$project/xplock.yaml"
cd "$project"
run cat shop.yaml
run xplock lock

printf '\n# Who needs what:\n'
run xplock tree
run xplock why provider-net
