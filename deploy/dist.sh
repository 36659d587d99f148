#!/bin/sh
# dist.sh ENVIRONMENT FOLDER: build the last commit into a wheel, a source distribution, an SBOM and checksums.
# The same commit gives the same bytes: nothing uncommitted is read, and the clock is the commit's.
set -eu
umask 022
environment=$(cd "$1" && pwd)
mkdir -p "$2"
folder=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mkdir "$scratch/source"
git archive HEAD | tar -x -C "$scratch/source"
rm -f "$folder"/*
"$environment/bin/python" -m build --no-isolation --outdir "$folder" "$scratch/source" >&2
wheel=$(echo "$folder"/*.whl)

# The SBOM lists what a user gets: the locked dependencies, and xplock as the root that requires them.
"$environment/bin/python" -m venv --without-pip "$scratch/installed"
pip() { "$environment/bin/pip" --python "$scratch/installed" install --quiet --no-deps "$@"; }
pip --require-hashes --requirement "$scratch/source/deploy/requirements/runtime.txt"
pip "$wheel"
version=$(basename "$wheel" | cut -d- -f2)
sed "s/^dynamic = .*/version = \"$version\"/" "$scratch/source/pyproject.toml" > "$scratch/pyproject.toml"
"$environment/bin/cyclonedx-py" environment --pyproject "$scratch/pyproject.toml" --output-reproducible \
	--output-file "$folder/xplock-$version.cdx.json" "$scratch/installed"

cd "$folder"
sha256sum ./* > "$scratch/sums"
cp "$scratch/sums" SHA256SUMS
