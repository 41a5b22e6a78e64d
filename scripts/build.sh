#!/bin/sh
# build.sh OUT FLAGS…: builds the program, and says how far it is: a line for each step, on a
# terminal one that counts. What is compiled already is quick and says little.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
out=$1
shift
if [ ! -x "$out" ]; then
	echo "building fika and what it is made of: minutes the first time, seconds afterwards"
fi
total=$($GO list -deps ./cmd/fika | wc -l | tr -d ' ') || total=0
failed=$(mktemp)
trap 'rm -f "$failed"' EXIT
trap 'exit 130' INT TERM
live=
[ ! -t 1 ] || live=1
tell() { if [ -n "$live" ]; then printf '\r\033[K%s' "$1"; else echo "$1"; fi; }
modules=0 packages=0
{ CGO_ENABLED=0 $GO build -v "$@" -o "$out" ./cmd/fika 2>&1 || echo $? >"$failed"; } | {
	while read -r line; do
		case $line in
		"go: downloading "*)
			[ -z "$live" ] && [ $((modules % 10)) -ne 0 ] || tell "downloading modules: $((modules + 1))"
			modules=$((modules + 1))
			;;
		*/cmd/fika) tell linking ;;
		*[\ :]*) # what the compiler says
			[ -z "$live" ] || printf '\r\033[K'
			echo "$line"
			;;
		*)
			[ -z "$live" ] && [ $((packages % 50)) -ne 0 ] || tell "compiling: $((packages + 1)) of at most $total packages"
			packages=$((packages + 1))
			;;
		esac
	done
	[ -z "$live" ] || printf '\r\033[K'
}
[ ! -s "$failed" ] || exit "$(cat "$failed")"
echo "built $out"
