#!/bin/sh
# A tour: builds the example packages into a folder that stands in for a registry, and looks at them.
set -eu
cd "$(dirname "$0")"

run() {
    printf '\n$ %s\n' "$*"
    "$@"
}

echo '# Every folder below packages/ becomes a package in registry/, an OCI layout.'
sh build-packages.sh

echo
echo '# What does the shop need, and what does it bring?'
run xplock package inspect xpkg.example.org/acme/configuration-shop:v1.0.0 --layout xpkg.example.org=registry

echo
echo '# The same as data, for programs:'
printf '\n$ %s\n' 'xplock package inspect xpkg.example.org/acme/provider-store:v1.1.0 -o json'
xplock package inspect xpkg.example.org/acme/provider-store:v1.1.0 --layout xpkg.example.org=registry -o json
