#!/bin/sh
# A tour: builds the example packages into a folder that stands in for a registry, locks and renders a project, moves a
# tag behind its back, mirrors the closure, and lets one package take the place of another.
set -eu
cd "$(dirname "$0")"
examples=$PWD

run() {
    printf '\n$ %s\n' "$*"
    "$@"
}

echo '# Every folder below packages/ becomes a package in registry/, an OCI layout.'
sh build-packages.sh

printf '\n# What does the shop need, and what does it bring?\n'
run xplock package inspect xpkg.example.org/acme/configuration-shop:v1.0.0 --layout xpkg.example.org=registry

printf '\n# A project folder holds a manifest that asks for the shop. Lock everything that it needs:\n'
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/shop"
cp -r registry packages/acme/provider-store/v1.0.0 "$scratch"
cp shop/shop.yaml shop/xplock.yaml "$scratch/shop"
cd "$scratch/shop"
run cat shop.yaml
run xplock lock

printf '\n# Who needs what:\n'
run xplock tree
run xplock why provider-net

printf '\n# What is applied: each package with its tag, and a pin that leads this tag to the locked bytes.\n'
run xplock render --out ../rendered
run cat ../rendered/provider-acme-provider-store.yaml
run cat ../rendered/imageconfig-xplock-acme-provider-store-v1-1-0-*.yaml
printf '\n$ xplock render >../before\n'
xplock render >../before

printf '\n# Somebody publishes other bytes under a tag that is locked:\n'
run xplock package build ../v1.0.0 --to ../registry -t xpkg.example.org/acme/provider-store:v1.1.0

printf '\n# verify names it, with exit code 3, and what is rendered stays as it was:\n'
run xplock verify || test $? = 3
printf '\n$ xplock render | cmp - ../before\n'
xplock render | cmp - ../before && echo 'the same bytes'

printf '\n# Everything that is locked, with all that is attached to it, for a registry of your own or across an air gap:\n'
run xplock mirror --layout xpkg.example.org=../registry --to oci:../mirror
run xplock mirror --layout xpkg.example.org=../registry --to oci:../mirror --check

printf '\n# Packages move. Nothing that is installed goes without being let go of: a story in four commits, each one synced.\n'
sh "$examples/moving/tell.sh" replaces
