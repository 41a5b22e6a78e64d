#!/bin/sh
# Format, vet and the tests. As it is, quickly: long sweeps are short, and without
# the race detector. FULL=1 does everything, under the race detector (where a C
# compiler is found; RACE=0 leaves it out) but for internal/cli, whose scripts start one
# process after another. PKG narrows it down: PKG=./internal/hub/... make test.
set -eu
cd "$(dirname "$0")/.."

# memory FOLDER: it has room for 2 GiB, and programs may be run from it.
memory() {
	[ -w "$1" ] && free=$(df -Pk "$1" 2>/dev/null | awk 'NR == 2 {print $4}') && [ "${free:-0}" -ge 2097152 ] || return 1
	probe=$(mktemp "$1/fika.XXXXXX") || return 1
	printf '#!/bin/sh\nexit 0\n' >"$probe" && chmod 700 "$probe" && "$probe" 2>/dev/null && rm -f "$probe" && return
	rm -f "$probe"
	return 1
}
GO=${GO:-go}
FULL=${FULL:-}

unformatted=$(gofmt -l $(git ls-files '*.go' 2>/dev/null || find . -name '*.go'))
if [ -n "$unformatted" ]; then
	printf 'not formatted (make fmt):\n%s\n' "$unformatted" >&2
	exit 1
fi
$GO vet ${PKG:-./...}

race=-race
cc=$($GO env CC)
if [ -z "$FULL" ]; then
	race=
elif ! command -v "${cc%% *}" >/dev/null 2>&1; then
	[ -z "${CI:-}" ] || { echo "no C compiler ($cc), and CI=$CI" >&2; exit 1; }
	race=
	echo "no C compiler ($cc): the race detector is left out" >&2
elif [ "${RACE:-1}" = 0 ]; then
	race=
	echo "RACE=0: the race detector is left out" >&2
fi

# The detector looks at fika and all that it uses but SQLite, which is C that was
# translated: with it the tests of the store take twice as long, and what it
# finds there are no mistakes of ours. The same goes for what compresses the bombs that
# stand-ins send. Packages with generic code of the standard
# library in them must not be left out: it would be left out everywhere.
if [ -n "$race" ]; then
	race="-race -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=compress/flate=-race=false"
	# A process under the detector sleeps for a second before it ends, so that other
	# goroutines may still report: with each of some thousand processes, that is
	# most of the time the tests take.
	export GORACE="${GORACE:-atexit_sleep_ms=20}"
fi

# Those that start processes wait for them most of the time: more of their tests
# run side by side than there are processors, and beside the other packages.
programs='fika/internal/cli$|fika/test/'
all=$($GO list ${PKG:-./...})
outside=$(echo "$all" | grep -E "$programs" || true)
inside=$(echo "$all" | grep -Ev "$programs" || true)
scripts= slow=
if [ -n "$FULL" ]; then
	short= limit=60m
	scripts=$(echo "$all" | grep -E 'fika/internal/cli$' || true)
	outside=$(echo "$outside" | grep -Ev 'fika/internal/cli$' || true)
else
	short=-short limit=30m
	longest='fika/internal/(store|flow|mcp|bus/nats)$' # these begin first
	slow=$(echo "$inside" | grep -E "$longest" || true)
	inside=$(echo "$inside" | grep -Ev "$longest" || true)
fi
packages=${TEST_PARALLEL:-2}
status=0
temp= beside=
clean() {
	for one in $beside; do
		kill -INT "${one%%:*}" 2>/dev/null || :
		wait "${one%%:*}" || :
		cat "${one#*:}"
		rm -f "${one#*:}"
	done
	[ -z "$temp" ] || rm -rf "$temp"
}
trap clean EXIT
trap 'exit 130' INT TERM

# The quick run keeps its thousands of small files in memory where there is room
# and programs may be run from there; the full one uses a real disk.
if [ -z "$FULL" ] && [ -z "${TMPDIR:-}" ] && memory /dev/shm; then
	temp=$(mktemp -d /dev/shm/fika.XXXXXX)
	chmod 711 "$temp"
	export TMPDIR="$temp"
fi
# Vet has been, and a test binary without symbols is linked in half the time.
tests() { $GO test $short -vet=off -ldflags='-s -w' -timeout $limit "$@"; }
if [ -n "$scripts" ]; then
	tests -parallel "${TEST_SIDE_BY_SIDE:-8}" $scripts || status=$?
fi
# aside runs tests beside the others, which show what they give as it comes; what
# these give is shown in the end.
aside() {
	out=$(mktemp)
	tests "$@" >"$out" 2>&1 &
	beside="$beside $!:$out"
}
if [ -n "$outside" ]; then
	set -- $race -p "$packages" -parallel "${TEST_SIDE_BY_SIDE:-8}" $outside
	if [ -n "$FULL" ] || [ -z "$inside" ]; then
		tests "$@" || status=$?
	else
		aside "$@"
	fi
fi
if [ -n "$slow" ]; then
	aside $race -p "$packages" $slow
fi
if [ -n "$inside" ]; then
	tests $race -p "$packages" $inside || status=$?
fi
for one in $beside; do
	wait "${one%%:*}" || status=$?
	cat "${one#*:}"
	rm -f "${one#*:}"
	beside=${beside#* "$one"}
done
exit $status
