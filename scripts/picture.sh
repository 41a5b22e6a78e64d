#!/bin/sh
# Draws the picture of the README from a real run (see test/picture).
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
CGO_ENABLED=0 $GO build -trimpath -ldflags "-s -w" -o bin/fika ./cmd/fika
exec $GO run ./test/picture -fika bin/fika -o docs/table.svg
