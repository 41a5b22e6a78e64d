#!/bin/sh
# site.sh [FOLDER]: makes the site from README.md, docs/ and the other Markdown files, into
# FOLDER (site). The files are the source of the site as they are: this only gives Hugo the
# title of each, its first heading, and names for the folders that have no README.md.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
hugo=github.com/gohugoio/hugo@v0.165.0 # compiled from the module proxy: minutes the first time, then seconds
out=${1:-site}
case $out in /*) ;; *) out=$PWD/$out ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cp -R share/site/. "$work/"
mkdir -p "$work/content" "$work/static"

# page FILE AS: the file with its title, where Hugo looks for it
page() {
	mkdir -p "$work/content/$(dirname "$2")"
	{
		awk '/^# / { sub(/^# /, ""); gsub(/[`"\\]/, ""); print "---\ntitle: \"" $0 "\"\npage: true\n---"; exit }' "$1"
		cat "$1"
	} >"$work/content/$2"
}

find . -name '*.md' \( -path './docs/*' -o ! -path './*/*' \) | LC_ALL=C sort | while read -r file; do
	as=${file#./}
	case $as in README.md) as=_index.md ;; */README.md) as=${as%README.md}_index.md ;; esac
	page "$file" "$as"
done
find docs -type d ! -name pictures | while read -r dir; do
	[ -f "$work/content/$dir/_index.md" ] && continue
	ls "$dir"/*.md >/dev/null 2>&1 || continue
	name=$(basename "$dir")
	first=$(printf %s "$name" | cut -c1 | tr '[:lower:]' '[:upper:]')
	mkdir -p "$work/content/$dir"
	printf -- '---\ntitle: "%s%s"\n---\n' "$first" "${name#?}" >"$work/content/$dir/_index.md"
done
# What pages link to or show and is no page lies beside them.
find docs share LICENSE -type f ! -name '*.md' ! -path 'share/site/*' | while read -r file; do
	mkdir -p "$work/static/$(dirname "$file")"
	cp "$file" "$work/static/$file"
done
rm -rf "$out"
${HUGO:-$GO run $hugo} --quiet --source "$work" --destination "$out" --noBuildLock
echo "the site: $out/index.html ($(find "$out" -name '*.html' | wc -l | tr -d ' ') pages)"
