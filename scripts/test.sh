#!/bin/sh
# Everything that CI runs: format, vet, tests (with the race detector where a C
# compiler is found), drift of the generated documents.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}

unformatted=$(gofmt -l $(git ls-files '*.go' 2>/dev/null || find . -name '*.go'))
if [ -n "$unformatted" ]; then
	printf 'not formatted (make fmt):\n%s\n' "$unformatted" >&2
	exit 1
fi
$GO vet ./...

race=-race
cc=$($GO env CC)
if ! command -v "${cc%% *}" >/dev/null 2>&1; then
	race=
	echo "no C compiler ($cc): the race detector is left out" >&2
elif [ "${RACE:-1}" = 0 ]; then
	race=
	echo "RACE=0: the race detector is left out" >&2
fi
# Packages share two cores and measure time-outs against real processes.
$GO test $race -timeout 20m -p "${TEST_PARALLEL:-2}" ./...
