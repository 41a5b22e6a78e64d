#!/bin/sh
# packages.sh FOLDER OS ARCH: makes in OUT, of the unpacked archive in FOLDER, the package
# for npm and, for Linux, the .deb and the .rpm.
# packages.sh FOLDER: makes what there is once: the npm package that asks for the right one
# of those, and fika.rb for Homebrew, whose addresses are below BASE_URL.
# dist.sh runs it; PACK is the program internal/dev/pack.
set -eu
. scripts/place.sh
GO=${GO:-go}
# Later versions need modules that not every proxy has.
nfpm=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2
common=$1
words="team of language-model agents on your machine"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# installed BY COMMAND: the file in which fika uninstall reads how it was installed.
installed() { printf 'by %s\nremove %s\n' "$1" "$2"; }

# linux ARCH: .deb and .rpm
linux() {
	mkdir -p "$work/man"
	cp "$common"/man/man1/*.1 "$work/man/"
	gzip -9n "$work"/man/*.1
	installed deb "sudo apt remove fika" >"$work/deb"
	installed rpm "sudo dnf remove fika" >"$work/rpm"
	cat >"$work/nfpm.yaml" <<-END
		name: fika
		arch: $1
		version: "$VERSION"
		section: utils
		priority: optional
		maintainer: "$MAINTAINER"
		description: |
		  $words
		  Agents have a conversation each, message each other by @name, keep working when the
		  terminal closes, and go on after a crash. One program, with your own key or Ollama.
		license: MIT
		${HOMEPAGE:+homepage: $HOMEPAGE}
		umask: 0o022
		recommends: [git, bubblewrap, ca-certificates]
		rpm: {buildhost: localhost, summary: "$words"}
		contents:
		  - {src: "$common/fika", dst: /usr/bin/fika, file_info: {mode: 0755}}
		  - {src: "$work/man/*.gz", dst: /usr/share/man/man1/}
		  - {src: "$common/completions/fika", dst: /usr/share/bash-completion/completions/fika}
		  - {src: "$common/completions/fika.fish", dst: /usr/share/fish/vendor_completions.d/fika.fish}
		  - {src: "$common/completions/_fika", dst: /usr/share/zsh/vendor-completions/_fika, packager: deb}
		  - {src: "$common/completions/_fika", dst: /usr/share/zsh/site-functions/_fika, packager: rpm}
		  - {src: "$work/deb", dst: /usr/share/fika/installed, packager: deb}
		  - {src: "$work/rpm", dst: /usr/share/fika/installed, packager: rpm}
		  - {src: "$common/LICENSE", dst: /usr/share/doc/fika/copyright, packager: deb}
		  - {src: "$common/LICENSE", dst: /usr/share/licenses/fika/LICENSE, packager: rpm}
		  - {src: "$common/README.md", dst: /usr/share/doc/fika/README.md}
		  - {src: "$common/CHANGELOG.md", dst: /usr/share/doc/fika/CHANGELOG.md}
		  - {src: "$common/docs", dst: /usr/share/doc/fika/docs, type: tree}
	END
	for form in deb rpm; do
		env -u GOOS -u GOARCH "$GO" run "$nfpm" package -f "$work/nfpm.yaml" -p $form -t "$OUT/fika-$VERSION-linux-$1.$form" >/dev/null
		echo "fika-$VERSION-linux-$1.$form"
	done
}

# cpu ARCH: as Node calls it.
cpu() { case $1 in amd64) echo x64 ;; *) echo "$1" ;; esac; }

# npm_binary OS ARCH: a package with the program and nothing that runs while it is installed
npm_binary() {
	name=$NPM_NAME-$1-$(cpu "$2")
	mkdir -p "$work/npm/bin" "$work/npm/share/fika"
	cp "$common/fika" "$work/npm/bin/"
	cp "$common/LICENSE" "$work/npm/"
	installed npm "npm uninstall -g $NPM_NAME" >"$work/npm/share/fika/installed"
	cat >"$work/npm/package.json" <<-END
		{
		  "name": "$name",
		  "version": "$VERSION",
		  "description": "the program fika for $1 on $2; install $NPM_NAME",
		  "license": "MIT",
		  "os": ["$1"],
		  "cpu": ["$(cpu "$2")"],
		  "files": ["bin", "share"],
		  "preferUnplugged": true
		}
	END
	"$PACK" archive "$OUT/$name-$VERSION.tgz" package "$work/npm"
	echo "$name-$VERSION.tgz"
}

# npm_wrapper: the package that people install
npm_wrapper() {
	mkdir -p "$work/npm/bin"
	cp -R "$common/man" "$common/completions" "$common/LICENSE" "$common/README.md" "$work/npm/"
	sed "s|NPM_NAME|$NPM_NAME|g" scripts/npm.js >"$work/npm/bin/fika.js"
	chmod 755 "$work/npm/bin/fika.js"
	page=
	[ -z "$HOMEPAGE" ] || page="\"homepage\": \"$HOMEPAGE\","
	cat >"$work/npm/package.json" <<-END
		{
		  "name": "$NPM_NAME",
		  "version": "$VERSION",
		  "description": "$words",
		  "license": "MIT",
		  $page
		  "bin": {"fika": "bin/fika.js"},
		  "directories": {"man": "man/man1"},
		  "files": ["bin", "man", "completions"],
		  "engines": {"node": ">=18"},
		  "optionalDependencies": {
		    "$NPM_NAME-linux-x64": "$VERSION",
		    "$NPM_NAME-linux-arm64": "$VERSION",
		    "$NPM_NAME-darwin-x64": "$VERSION",
		    "$NPM_NAME-darwin-arm64": "$VERSION"
		  }
		}
	END
	"$PACK" archive "$OUT/$NPM_NAME-$VERSION.tgz" package "$work/npm"
	echo "$NPM_NAME-$VERSION.tgz"
}

# source OS ARCH: the address and checksum of an archive, as a formula has them
source_of() {
	file=fika-$VERSION-$1-$2.tar.gz
	if command -v sha256sum >/dev/null 2>&1; then sum=$(sha256sum "$OUT/$file"); else sum=$(shasum -a 256 "$OUT/$file"); fi
	printf '      url "%s/%s"\n      sha256 "%s"\n' "${BASE_URL%/}" "$file" "${sum%% *}"
}

formula() {
	if [ -z "$BASE_URL" ]; then
		echo "no formula for Homebrew: BASE_URL is not set, and its addresses would lead nowhere"
		return
	fi
	for platform in darwin-arm64 darwin-amd64 linux-arm64 linux-amd64; do
		[ -f "$OUT/fika-$VERSION-$platform.tar.gz" ] || { echo "no formula for Homebrew: it needs the archive for $platform"; return; }
	done
	cat >"$OUT/fika.rb" <<-END
		class Fika < Formula
		  desc "Team of language-model agents on your machine"
		  homepage "${HOMEPAGE:-$BASE_URL}"
		  version "$VERSION"
		  license "MIT"

		  on_macos do
		    on_arm do
		$(source_of darwin arm64)
		    end
		    on_intel do
		$(source_of darwin amd64)
		    end
		  end
		  on_linux do
		    on_arm do
		$(source_of linux arm64)
		    end
		    on_intel do
		$(source_of linux amd64)
		    end
		  end

		  def install
		    bin.install "fika"
		    bash_completion.install "completions/fika"
		    zsh_completion.install "completions/_fika"
		    fish_completion.install "completions/fika.fish"
		    man1.install Dir["man/man1/*.1"]
		    (share/"fika").mkpath
		    (share/"fika/installed").write "by brew\nremove brew uninstall fika\n"
		  end

		  test do
		    assert_match version.to_s, shell_output("#{bin}/fika version")
		  end
		end
	END
	echo "fika.rb"
}

if [ $# -eq 3 ]; then
	[ "$2" != linux ] || linux "$3"
	npm_binary "$2" "$3"
else
	npm_wrapper
	formula
fi
