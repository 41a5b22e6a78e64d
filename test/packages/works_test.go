package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// works checks that below a prefix there is a fika that runs, which the shells complete and
// man explains. The program is bin/fika, or what program names.
func works(t *testing.T, prefix, program string) {
	t.Helper()
	home := t.TempDir()
	env := []string{"HOME=" + home, "TERM=dumb", "PATH=" + filepath.Dir(program) + ":/usr/bin:/bin"}
	if out := must(t, home, env, program, "version"); !strings.HasPrefix(out, "fika "+version+" (") {
		t.Errorf("fika version says %q", out)
	}
	completes(t, prefix, env)
	if _, err := exec.LookPath("man"); err == nil {
		page, err := filepath.Glob(filepath.Join(prefix, "share/man/man1/fika-chat.1*"))
		if err != nil || len(page) != 1 {
			t.Fatalf("manual pages of fika chat: %v", page)
		}
		if out := must(t, home, append(env, "MANWIDTH=80", "MANPAGER=cat", "LC_ALL=C.UTF-8"), "man", "-l", page[0]); !strings.Contains(out, "SYNOPSIS") || !strings.Contains(out, "fika-chat-send(1)") {
			t.Errorf("man shows %q", out)
		}
	}
}

// completes presses Tab after "fika cha" in each shell that is here.
func completes(t *testing.T, prefix string, env []string) {
	t.Helper()
	share := filepath.Join(prefix, "share")
	zsh := filepath.Join(share, "zsh/site-functions")
	if _, err := os.Stat(filepath.Join(share, "zsh/vendor-completions")); err == nil {
		zsh = filepath.Join(share, "zsh/vendor-completions") // as Debian has it
	}
	for shell, script := range map[string]string{
		"bash": `source ` + share + `/bash-completion/completions/fika
			COMP_WORDS=(fika cha) COMP_CWORD=1 COMP_LINE='fika cha' COMP_POINT=8
			__start_fika; echo "found: ${COMPREPLY[*]}"`,
		"fish": `set -p fish_complete_path ` + share + `/fish/vendor_completions.d
			echo "found: "(complete -C "fika cha")`,
		// Tab is pressed in a terminal of its own; \x0c redraws, so that what stands there is printed whole.
		"zsh": `zmodload zsh/zpty; zpty z 'zsh -f -i'
			zpty -w z "PS1='> '; fpath=(` + zsh + ` \$fpath); autoload -Uz compinit; compinit -u -d \$HOME/dump; echo rea''dy"
			zpty -r -m z line '*ready*'
			zpty -w -n z $'fika cha\t'
			zpty -r -m z line '*fika chat *'
			echo "found: chat"; zpty -d z`,
	} {
		if _, err := exec.LookPath(shell); err != nil {
			t.Logf("%s is not here: its completion was not tried", shell)
			continue
		}
		args := map[string][]string{"bash": {"--norc", "-c"}, "fish": {"--no-config", "-c"}, "zsh": {"-f", "-c"}}[shell]
		if out := must(t, "", env, "timeout", append([]string{"60", shell}, append(args, script)...)...); !strings.Contains(out, "found: chat") {
			t.Errorf("%s completes fika cha to %q", shell, out)
		}
	}
}
