#!/bin/sh
# dist.sh BINARY OS/ARCH…: makes dist/fika-VERSION-OS-ARCH.tar.gz of each, with
# the documents, a manual page of each command, and the completions that BINARY,
# which runs here, prints; and dist/SHA256SUMS. What cannot be run here is vetted.
set -eu
bin=$1
shift
GO=${GO:-go}
rm -rf dist
mkdir -p dist/completions
for shell in bash zsh fish; do
	"$bin" completion "$shell" >"dist/completions/fika.$shell"
done
mkdir -p dist/man
"$GO" run ./internal/docgen man dist/man
for platform; do
	os=${platform%/*}
	arch=${platform#*/}
	name=fika-$VERSION-$os-$arch
	mkdir -p "dist/$name"
	echo "$name"
	CGO_ENABLED=0 GOOS=$os GOARCH=$arch "$GO" vet ./...
	CGO_ENABLED=0 GOOS=$os GOARCH=$arch "$GO" build -trimpath -ldflags "$LDFLAGS" -o "dist/$name/fika" ./cmd/fika
	cp -r README.md LICENSE CHANGELOG.md docs dist/completions dist/man "dist/$name/"
	tar -C dist -czf "dist/$name.tar.gz" "$name"
	rm -rf "dist/$name"
done
rm -rf dist/completions dist/man
(cd dist && sha256sum ./*.tar.gz >SHA256SUMS)
