#!/bin/sh
# Tells one of the stories beside it: what is edited in each step, the command, and what that says.
# Usage: sh tell.sh STORY, after build-packages.sh.
set -eu
story=$1
moving=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# As deep as the steps are, whose settings name the registry by a relative path.
mkdir -p "$scratch/moving/$story"
ln -s "$moving/../registry" "$scratch/registry"
cd "$scratch/moving/$story"
mkdir now
for step in "$moving/$story"/*/; do
    mv now before
    cp -r "$step" now
    find now -depth \( -path '*/expected*' -o -name crossplane.lock.yaml -o -name step.txt \) -delete
    printf '\n'
    grep '^#' "$step/step.txt"
    diff -rN -U1 -x crossplane.lock.yaml before now |
        sed 's|^+++ now/\([^[:space:]]*\).*|\1:|; /^diff /d; /^--- /d; /^@@/d; /yaml-language-server/d' || true
    # The lock is what one step leaves to the next.
    (cd before && find . -name crossplane.lock.yaml) | while read -r lock; do cp "before/$lock" "now/$lock"; done
    command=$(grep -v '^#' "$step/step.txt")
    printf '$ %s\n' "$command"
    (cd now && $command)
    rm -r before
done
