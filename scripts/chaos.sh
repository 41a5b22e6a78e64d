#!/bin/sh
# The harness of the promises (see test/chaos): builds fika with the tag
# chaos and breaks it. ENGINE=postgres gives every home a schema on a server of
# the run's own. SEEDS, POINT, FAULT, CONTROL, JOBS, SEED narrow it down;
# SOAK=10m works for that long instead.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
bin=bin/fika-chaos
CGO_ENABLED=0 $GO build -tags chaos -trimpath -o $bin ./cmd/fika
$GO build -o bin/chaos ./test/chaos
set -- -engine "${ENGINE:-sqlite}" -fika $bin -seeds "${SEEDS:-20}" -seed "${SEED:-1}" -jobs "${JOBS:-4}"
[ -z "${POINT:-}" ] || set -- "$@" -point "$POINT"
[ -z "${FAULT:-}" ] || set -- "$@" -fault "$FAULT"
[ -z "${CONTROL:-}" ] || set -- "$@" -control "$CONTROL"
[ -z "${SOAK:-}" ] || set -- "$@" -soak "$SOAK"
exec bin/chaos "$@"
