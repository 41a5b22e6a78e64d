#!/bin/sh
# Names the programs that tests use and that are missing here. Their tests are
# skipped then, and say so; with CI=true a missing one is a failure, so that
# nothing is green because it was not tried. FULL=1 names those of the long tests, too.
set -eu
missing=
for program in git tmux setsid nsenter pgrep bwrap curl ${FULL:+node npm chromium prometheus promtool ssh-keygen zsh fish}; do
	command -v "$program" >/dev/null 2>&1 || missing="$missing $program"
done
if ! command -v postgres >/dev/null 2>&1 && ! ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then
	missing="$missing postgres"
fi
[ -n "$missing" ] || exit 0
echo "missing, so tests that need them are skipped:$missing (Debian: git tmux util-linux procps bubblewrap curl postgresql nodejs npm chromium prometheus openssh-client zsh fish)" >&2
[ "${CI:-}" != true ] || exit 1
