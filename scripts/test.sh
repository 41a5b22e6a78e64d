#!/bin/sh
# Format, vet and the tests; MODE says how far they go:
#
#   quick  make test: long sweeps short, without the race detector and PostgreSQL; of the
#          scripts of commands and of test/e2e a few, and nothing of test/chaos and of the
#          packages whose tests start program after program. What has passed and has not
#          changed since is not run again, except with CI set
#   check  make check: what quick leaves out, and under the race detector those packages
#          of the program in which goroutines start; sweeps short
#   full   make full: everything at full length, all but internal/cli under the race
#          detector, whose scripts start one process after another
#
# RACE=0 leaves the race detector out, and so does a machine without a C compiler.
# PKG narrows it down: PKG=./internal/hub/... make test.
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
MODE=${MODE:-quick}
patience=15m # a package that takes longer hangs
[ $MODE != full ] || patience=60m

unformatted=$(gofmt -l $(git ls-files '*.go' 2>/dev/null || find . -name '*.go'))
if [ -n "$unformatted" ]; then
	printf 'not formatted (make fmt):\n%s\n' "$unformatted" >&2
	exit 1
fi
$GO vet ${PKG:-./...}

race=-race
cc=$($GO env CC)
if [ $MODE = quick ]; then
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

packages=${TEST_PARALLEL:-2}
beside=${TEST_SIDE_BY_SIDE:-8} # tests that wait for processes most of the time
all=$($GO list ${PKG:-./...})
# of PATTERN, without PATTERN: of all packages those that match, and those that do not.
of() { echo "$all" | grep -E "$1" || true; }
without() { echo "$all" | grep -Ev "$1" || true; }
programs='fika/internal/cli$|fika/test/(e2e|chaos|packages|machines)$'
starters='fika/internal/(bus/nats|extension/(mcp|plugin)|sandbox|sandbox/confine|tool/job|repository/(worktree|landing))$' # they start program after program
waiters='fika/internal/(extension/(mcp|plugin)|sandbox/confine|tool/asuser)$' # they wait for programs, which the race detector makes slow
longest='fika/internal/(store|workflow/flow)$' # these begin first
looking='fika/internal/dev/importtest$'                                                # it looks at all packages, which Go does not know
# What the quick run leaves out of the tests of commands: those that start programs for long.
left='^TestScript$/^[^ak]|^(TestWalk|TestWalkManage|TestD7WalkHungHub|TestE7Showcase|TestAskHolder|TestAskHolderStreams|TestKilledAtAnyMoment)$'
left="$left|^(TestTheExamples.*|TestA13JSONKeys|TestApprove.*|TestJoin.*|TestSession.*|TestA7.*|TestE6.*)$"
left="$left|^(TestA8YoursIsNext|TestTeamLineInTheSession|TestKilled.*|TestAHomeOfTheFirstFormOpens|TestA5A6.*|TestInstallAsks.*|TestFirstMinute|TestRenamedWhileJoined|TestB7.*|TestCtrlC|TestTurnTimeout)$"
status=0
temp=
clean() { [ -z "$temp" ] || rm -rf "$temp"; }
trap clean EXIT
trap 'exit 130' INT TERM

# All but the full run keep their thousands of small files in memory where there is room
# and programs may be run from there; the full one uses a real disk.
if [ $MODE != full ] && [ -z "${TMPDIR:-}" ] && memory /dev/shm; then
	# Go runs a test again whose environment has changed, and that holds this folder.
	temp=/dev/shm/fika-$(id -u)-$(pwd | cksum | cut -d' ' -f1)
	[ $MODE = quick ] && [ -z "${CI:-}" ] && mkdir "$temp" 2>/dev/null || temp=$(mktemp -d /dev/shm/fika.XXXXXX)
	chmod 711 "$temp"
	export TMPDIR="$temp"
fi
# tests ARGS… PACKAGES: nothing if there are no packages. Vet has been, and a test binary without
# symbols is linked in half the time.
tests() {
	case " $* " in *" fika/"*) $GO test -vet=off -ldflags='-s -w' -timeout $patience -p $packages "$@" || status=$? ;; esac
}
case $MODE in
quick)
	packages=${TEST_PARALLEL:-3} # of two cores, a part waits for processes
	export TEST_POSTGRES=0
	tests -short $(of "$longest") $(without "$programs|$longest|$starters|$looking")
	tests -short -parallel $beside -skip "$left" $(of 'fika/internal/cli$')
	tests -short -count=1 -parallel $beside -run '^(TestByHand|TestChain)$' $(of 'fika/test/e2e$')
	tests -short -count=1 $(of "$looking")
	;;
check)
	concurrent=$(grep -rlE '^\s+go [a-zA-Z]|\.Go\(|AfterFunc\(' --include='*.go' internal | grep -v _test.go | xargs -n1 dirname | sort -u | sed 's|^|fika/|')
	served=$(grep -rl 'fika/internal/store/pgtest"' --include='*_test.go' internal | xargs -n1 dirname | sort -u | sed 's|^|fika/|; s|$|$|' | paste -sd '|')
	raced= plain=$(of "$waiters")
	for one in $(without "$programs|$waiters"); do
		case " $(echo $concurrent) " in
		*" $one "*) raced="$raced $one" ;;
		*) ! echo "$one" | grep -Eq "$starters|$served" || plain="$plain $one" ;;
		esac
	done
	tests -short $race $raced
	tests -short $plain
	export FULL=1
	tests -run '^TestServersFromNPM$' $(of 'fika/internal/extension/mcp$')
	unset FULL
	tests -short -parallel $beside $(of 'fika/internal/cli$')
	tests -parallel $beside $(of 'fika/test/e2e$')
	tests -short -parallel $beside $(of 'fika/test/(chaos|packages|machines)$')
	;;
full)
	export FULL=1
	tests -parallel $beside $(of 'fika/internal/cli$')
	tests $race -parallel $beside $(of 'fika/test/(e2e|chaos)$')
	tests $(of 'fika/test/machines$')
	FULL= tests $(of 'fika/test/packages$') # all of it is make packages
	tests $race $(without "$programs")
	;;
*)
	echo "MODE=$MODE: quick, check or full" >&2
	exit 2
	;;
esac
exit $status
