#!/bin/sh
# Draws the moving picture of the README and those of the page from a real run (see test/picture).
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
exec $GO run ./test/picture -fika bin/fika -page docs/pictures/page
