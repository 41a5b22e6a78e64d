#!/bin/sh
# install.sh: installs fika with its completions and manual pages, or removes them.
#
#   install.sh [--from URL|FOLDER] [--prefix FOLDER] [--key KEY|FILE]
#   install.sh --program FILE [--prefix FOLDER]
#   install.sh --uninstall [--prefix FOLDER]
#
#   --from       where the archive and SHA256SUMS are
#   --prefix     where to install to: bin/fika and share/… below it (default ~/.local)
#   --key        public SSH key of who signs, or a file with it: SHA256SUMS must then be
#                signed by it (SHA256SUMS.sig)
#   --program    install this program, which is here already, and the manual pages beside it
#   --uninstall  remove what was installed to the prefix; your data in ~/.fika stay
#
# Run beside an unpacked program called fika it installs that one. It needs sh, tar, curl or
# wget, sha256sum or shasum, and ssh-keygen if a signature is to be checked; it never
# asks, and writes nothing outside of the prefix. Nothing is installed unless the checksum is
# right and the program runs.
set -eu

# Set by the build for the place where it is published.
base_url=
signer=

fail() {
	echo "install.sh: $1" >&2
	[ -z "${2:-}" ] || echo "hint: $2" >&2
	exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# fetch URL|FILE TO. Over plain http others can change what comes: only on this machine.
fetch() {
	case $1 in
	*@*) fail "$1 holds a user name or password" ;;
	https://* | http://127.0.0.1[:/]* | http://localhost[:/]* | "http://[::1]"[:/]*) ;;
	http://*) fail "$1 would come over plain http" "use an https address" ;;
	*) cp "$1" "$2" 2>/dev/null || fail "cannot read $1"; return ;;
	esac
	if have curl; then
		curl -fsSL --retry 2 -o "$2" "$1" || fail "cannot fetch $1"
	elif have wget; then
		wget -q -O "$2" "$1" || fail "cannot fetch $1"
	else
		fail "needs curl or wget"
	fi
}

sum() { if have sha256sum; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d' ' -f1; }

# check_signature FOLDER
check_signature() {
	if [ -z "$signer" ]; then
		echo "signature not checked: no key given (--key); the checksum protects against damage, not against whoever holds the server"
		return
	fi
	have ssh-keygen || fail "needs ssh-keygen to check the signature"
	if [ -f "$signer" ]; then signer=$(cut -d' ' -f1,2 <"$signer"); fi
	printf 'fika namespaces="fika" %s\n' "$signer" >"$1/signers"
	fetch "$from/SHA256SUMS.sig" "$1/SHA256SUMS.sig"
	ssh-keygen -q -Y verify -f "$1/signers" -I fika -n fika -s "$1/SHA256SUMS.sig" <"$1/SHA256SUMS" >/dev/null 2>&1 ||
		fail "SHA256SUMS is not signed by $signer: nothing was installed"
	echo "signature good: $signer"
}

# download FOLDER: leaves the unpacked archive there; sets program and source.
download() {
	[ -n "$from" ] || fail "no address to install from: fika is published nowhere yet" "install.sh --from URL, or build it: make build && make install"
	from=${from%/}
	case $(uname -s) in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	*) fail "no fika for $(uname -s); on Windows use WSL" ;;
	esac
	case $(uname -m) in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "no fika for $(uname -m)" ;;
	esac
	fetch "$from/SHA256SUMS" "$1/SHA256SUMS"
	check_signature "$1"
	line=$(grep -E "^[0-9a-f]{64} [ *]fika-[0-9A-Za-z.+-]+-$os-$arch\.tar\.gz\$" "$1/SHA256SUMS") || fail "SHA256SUMS lists no archive for $os/$arch"
	[ "$(echo "$line" | wc -l)" -eq 1 ] || fail "SHA256SUMS lists several archives for $os/$arch"
	name=${line##*[ *]}
	fetch "$from/$name" "$1/$name"
	[ "$(sum "$1/$name")" = "${line%% *}" ] || fail "$name is damaged: its checksum is not the one of SHA256SUMS; nothing was installed"
	echo "checksum good: $name"
	tar -xzf "$1/$name" -C "$1" || fail "cannot unpack $name"
	program=$1/${name%.tar.gz}/fika
	source=$from
}

# place FILE NAME MODE: puts it under the prefix in one step, and notes it.
place() {
	mkdir -p "$to/$(dirname "$2")"
	cp "$1" "$to/$2.new" && chmod "$3" "$to/$2.new" && mv -f "$to/$2.new" "$to/$2"
	echo "file $2" >>"$temp/installed"
}

install() {
	[ -x "$program" ] || fail "$program is no program"
	version=$("$program" version) || fail "$program does not run here: nothing was installed"
	for shell in bash zsh fish; do
		"$program" completion "$shell" >"$temp/$shell" || fail "$program makes no completion for $shell"
	done
	printf 'by script\nsource %s\n' "$source" >"$temp/installed"
	place "$program" bin/fika 755
	place "$temp/bash" share/bash-completion/completions/fika 644
	place "$temp/zsh" share/zsh/site-functions/_fika 644
	place "$temp/fish" share/fish/vendor_completions.d/fika.fish 644
	pages=$(dirname "$program")/man/man1 manual=
	for page in "$pages"/*.1; do
		[ -f "$page" ] || continue
		place "$page" "share/man/man1/${page##*/}" 644
		manual="; manual pages: man fika"
	done
	# What an older version installed and this one does not have.
	if [ -f "$to/share/fika/installed" ]; then
		sed -n 's/^file //p' "$to/share/fika/installed" | while read -r file; do
			case $file in /* | *..*) continue ;; esac
			grep -qxF "file $file" "$temp/installed" || rm -f "$to/$file"
		done
	fi
	place "$temp/installed" share/fika/installed 644
	echo "installed $version"
	echo "  program      $prefix/bin/fika"
	echo "  completions  $prefix/share: bash, zsh and fish$manual"
	case ":$PATH:" in
	*":$prefix/bin:"*) ;;
	*) echo "  $prefix/bin is not in your PATH: add to ~/.profile:  export PATH=\"$prefix/bin:\$PATH\"" ;;
	esac
	case $prefix in
	/usr | /usr/local) ;;
	*) echo "  zsh only: add to ~/.zshrc, before compinit:  fpath=($prefix/share/zsh/site-functions \$fpath)" ;;
	esac
	echo "  a hub that runs keeps its version until fika down"
	echo "  to remove it: fika uninstall"
}

uninstall() {
	list=$to/share/fika/installed
	[ -f "$list" ] || fail "nothing in $to was installed by this script" "install.sh --uninstall --prefix FOLDER"
	[ "$(sed -n 's/^by //p' "$list")" = script ] || fail "fika in $to came as a package: remove it as one"
	sed -n 's/^file //p' "$list" | while read -r file; do
		case $file in /* | *..*) continue ;; esac
		rm -f "$to/$file"
	done
	rm -f "$list"
	rmdir "$to/share/fika" 2>/dev/null || true
	echo "removed fika from $prefix"
	echo "your settings and conversations stay in ~/.fika, and those of projects in their .fika folders"
}

main() {
	prefix=${PREFIX:-$HOME/.local} from= program= source= do=install
	while [ $# -gt 0 ]; do
		case $1 in
		--uninstall) do=uninstall; shift; continue ;;
		-h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 0 ;;
		--from | --prefix | --key | --program) [ $# -gt 1 ] || fail "$1 needs a value" ;;
		*) fail "unknown argument $1" "install.sh --help" ;;
		esac
		case $1 in
		--from) from=$2 ;;
		--prefix) prefix=$2 ;;
		--key) signer=$2 ;;
		--program) program=$2 source=$2 ;;
		esac
		shift 2
	done
	case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
	to=${DESTDIR:-}$prefix
	if [ $do = uninstall ]; then
		uninstall
		return
	fi
	temp=$(mktemp -d)
	trap 'rm -rf "$temp"' EXIT
	trap 'exit 130' INT TERM
	here=$(dirname "$0")
	if [ -z "$program$from" ] && [ "${0##*/}" = install.sh ] && [ -f "$here/fika" ]; then
		program=$here/fika source=$here
	fi
	from=${from:-$base_url}
	[ -n "$program" ] || download "$temp"
	install
}

main "$@"
