#!/bin/sh
# The speed goals: fika against floors that are measured in the same run. All
# ENGINE=postgres keeps the databases on a server of the run's own. All other
# arguments go to the bench: --only hop, --json FILE, --n 100 (see
# test/bench).
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
FIKA=${FIKA:-bin/fika}
[ -x "$FIKA" ] || CGO_ENABLED=0 $GO build -trimpath -ldflags "-s -w" -o "$FIKA" ./cmd/fika
# Linked as fika is: what is measured re-executes the bench itself.
exec env CGO_ENABLED=0 $GO run ./test/bench -engine "${ENGINE:-sqlite}" -fika "$FIKA" "$@"
