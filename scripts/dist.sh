#!/bin/sh
# dist.sh OS/ARCH…: makes in OUT (dist), for each platform, fika-VERSION-OS-ARCH.tar.gz with
# the program, its manual pages, completions and documents, and fika-VERSION-OS-ARCH.cdx.json,
# what the program is made of; then SHA256SUMS of them all, its signature if there is a
# SIGN_KEY, and install.sh, which knows BASE_URL and that key. The same source gives the
# same bytes, whoever builds it and where. With PACKAGES=1 it makes the packages, too.
set -eu
cd "$(dirname "$0")/.."
. scripts/place.sh
GO=${GO:-go}
OUT=${OUT:-dist}
VERSION=${VERSION:-$(git describe --tags --dirty 2>/dev/null || echo dev)}
if [ "$VERSION" = dev ]; then # packages need a number
	VERSION=0.0.0-g$(git rev-parse --short=10 HEAD 2>/dev/null || echo unknown)
	git diff --quiet HEAD 2>/dev/null || VERSION=$VERSION-dirty
fi
VERSION=${VERSION#v}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 1)}
export VERSION SOURCE_DATE_EPOCH

# The compiler that go.mod names, and nothing of this machine: the bytes depend on all of these.
GOTOOLCHAIN=go$(awk '$1 == "go" {print $2}' go.mod)
GOFLAGS='-trimpath -buildvcs=false'
export GOTOOLCHAIN GOFLAGS CGO_ENABLED=0 GOAMD64=v1 GOARM64=v8.0 GOEXPERIMENT= GOFIPS140=off
module=$("$GO" list -m)

umask 022
case $OUT in /*) ;; *) OUT=$PWD/$OUT ;; esac
export OUT
rm -rf "$OUT"
mkdir -p "$OUT"
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
trap 'exit 130' INT TERM

echo "manual pages and completions"
"$GO" build -o "$tools/pack" ./internal/dev/pack
common=$tools/common
mkdir -p "$common/man/man1" "$common/completions"
"$GO" build -o "$tools/docgen" ./internal/dev/docgen
"$tools/docgen" man "$common/man/man1"
"$tools/docgen" completions "$common/completions"
cp -R README.md LICENSE CHANGELOG.md Containerfile docs "$common/"

case $BASE_URL in *[!A-Za-z0-9:/._~%+-]*) echo "dist.sh: BASE_URL holds what no plain address holds: $BASE_URL" >&2; exit 1 ;; esac
key=
if [ -n "$SIGN_KEY" ]; then
	case $SIGN_KEY in /*) ;; *) SIGN_KEY=$PWD/$SIGN_KEY ;; esac
	key=$(ssh-keygen -y -f "$SIGN_KEY" | cut -d' ' -f1,2)
fi
sed -e "s|^base_url=.*|base_url='$BASE_URL'|" -e "s|^signer=.*|signer='$key'|" scripts/install.sh >"$OUT/install.sh"
chmod 755 "$OUT/install.sh"
cp "$OUT/install.sh" "$common/"

for platform; do
	os=${platform%/*}
	arch=${platform#*/}
	name=fika-$VERSION-$os-$arch
	echo "$name"
	GOOS=$os GOARCH=$arch "$GO" build -ldflags "-s -w -X $module/internal/cli.version=$VERSION" -o "$common/fika" ./cmd/fika
	"$tools/pack" sbom "$common/fika" "$VERSION" >"$OUT/$name.cdx.json"
	"$tools/pack" archive "$OUT/$name.tar.gz" "$name" "$common"
	if [ -n "${PACKAGES:-}" ]; then
		PACK="$tools/pack" ./scripts/packages.sh "$common" "$os" "$arch"
	fi
done
if [ -n "${PACKAGES:-}" ]; then
	PACK="$tools/pack" ./scripts/packages.sh "$common"
fi

cd "$OUT"
if command -v sha256sum >/dev/null 2>&1; then sum=sha256sum; else sum='shasum -a 256'; fi
LC_ALL=C
export LC_ALL
$sum -- * >"$tools/sums"
mv "$tools/sums" SHA256SUMS
if [ -n "$SIGN_KEY" ]; then
	ssh-keygen -q -Y sign -f "$SIGN_KEY" -n fika SHA256SUMS
	echo "signed by $key"
else
	echo "not signed: SIGN_KEY names no key"
fi
[ -n "$BASE_URL" ] || echo "BASE_URL is not set: install.sh has to be told where the archives are (--from)"
