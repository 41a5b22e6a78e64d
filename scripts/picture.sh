#!/bin/sh
# Draws the moving picture of the README, those of the page and, where make interop has installed
# them, that of a table with Claude Code and Codex, from real runs (see test/picture).
# With VIEWS=FOLDER it draws a session, an approval and a plan there instead, on a dark and on
# a light ground.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
CGO_ENABLED=0 $GO build -trimpath -ldflags "-s -w" -o bin/fika ./cmd/fika
if [ -n "${VIEWS:-}" ]; then
	for view in session approval plan; do
		$GO run ./test/picture -fika bin/fika -view $view -o "$VIEWS/$view-dark.svg"
		$GO run ./test/picture -fika bin/fika -view $view -light -o "$VIEWS/$view-light.svg"
	done
	exit
fi
$GO run ./test/picture -fika bin/fika -movie docs/pictures/session.svg
$GO run ./test/picture -fika bin/fika -page docs/pictures/page
npm=${INTEROP:-${XDG_CACHE_HOME:-$HOME/.cache}/fika/interop}
if [ ! -e "$npm/installed-lock.json" ]; then
	echo "skipped: docs/pictures/table.svg, because make interop has not installed Claude Code and Codex"
	exit
fi
$GO run ./test/picture -fika bin/fika -table "$npm" -o docs/pictures/table.svg
