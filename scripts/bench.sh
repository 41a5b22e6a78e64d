#!/bin/sh
# The speed goals: fika against floors that are measured in the same run. All
# arguments go to the bench: --only hop, --json FILE, --n 100 (see
# test/bench).
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
FIKA=${FIKA:-bin/fika}
[ -x "$FIKA" ] || CGO_ENABLED=0 $GO build -trimpath -ldflags "-s -w" -o "$FIKA" ./cmd/fika
exec $GO run ./test/bench -fika "$FIKA" "$@"
