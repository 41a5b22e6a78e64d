#!/bin/sh
# install.sh BINARY: puts it into $DESTDIR$PREFIX/bin, and completions where the
# shells look for them.
set -eu
bin=$1
to=${DESTDIR:-}${PREFIX:-/usr/local}
install -d "$to/bin" "$to/share/bash-completion/completions" "$to/share/zsh/site-functions" "$to/share/fish/vendor_completions.d"
install -m 755 "$bin" "$to/bin/fika"
"$bin" completion bash >"$to/share/bash-completion/completions/fika"
"$bin" completion zsh >"$to/share/zsh/site-functions/_fika"
"$bin" completion fish >"$to/share/fish/vendor_completions.d/fika.fish"
echo "installed $("$bin" version) in $to"
