#!/bin/sh
# The agent programs and clients of others against fika: their npm packages, as
# test/interop/package-lock.json has them, installed outside of the repository.
set -eu
dir=${INTEROP:-${XDG_CACHE_HOME:-$HOME/.cache}/fika/interop}
if ! command -v npm >/dev/null; then
	echo "skipped: interop, because there is no npm here"
	exit 0
fi
mkdir -p "$dir"
if ! cmp -s test/interop/package-lock.json "$dir/installed-lock.json"; then
	echo "installing the packages into $dir (2.5 GB)"
	cp test/interop/package.json test/interop/package-lock.json "$dir/"
	# Not npm ci: the lock leaves out what is for other systems.
	(cd "$dir" && npm install --no-audit --no-fund)
	cp test/interop/package-lock.json "$dir/installed-lock.json"
fi
FIKA_INTEROP=$dir FIKA_BIN=$(pwd)/bin/fika "${GO:-go}" test -vet=off -count=1 -timeout 30m -v ./test/interop ${RUN:+-run "$RUN"}
