#!/bin/sh
# module.sh PATH: gives the module the path under which it is published, as in
# example.com/you/fika, so that go install PATH/cmd/fika@latest works. The path stands in
# go.mod; the imports, and the few scripts and tests that name packages, follow it.
set -eu
cd "$(dirname "$0")/.."
new=${1:?give the path, as in example.com/you/fika}
old=$(awk '$1 == "module" {print $2}' go.mod)
case $new in *[!A-Za-z0-9./_~-]* | /* | */) echo "module.sh: $new is no module path" >&2; exit 2 ;; esac
case $new in *.*/*) ;; *) echo "module.sh: $new begins with no host: go install could not find it" >&2; exit 2 ;; esac
sed -i.bak "s|^module .*|module $new|" go.mod
rm go.mod.bak
# "fika" alone is an import only on a line of its own; "fika/…" is one of these folders.
find . \( -name '*.go' -o -path './scripts/*.sh' -o -name '*.txtar' \) ! -path './.git/*' -type f | while read -r file; do
	grep -Eq "\"$old\"|$old/(cmd|internal|test)\\b" "$file" || continue
	alone="s|^([[:space:]]*(import )?([A-Za-z_.]+ )?)\"$old\"\$|\\1\"$new\"|"
	case $file in *.go) ;; *) alone="s#\|$old/\|#|$new/|#g" ;; esac
	sed -E -e "$alone" -e "s#([\"'|(]|^|-X )$old/(cmd|internal|test)([/|\"\$(]|\$)#\\1$new/\\2\\3#g" \
		"$file" >"$file.new"
	cat "$file.new" >"$file"
	rm "$file.new"
done
gofmt -w cmd internal test ./*.go
echo "the module is $new; go install $new/cmd/fika@latest works once a version of it is published there"
