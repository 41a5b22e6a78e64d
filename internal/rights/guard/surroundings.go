package guard

import (
	"slices"
	"strings"
)

// effect is what a variable of the environment does to a program.
type effect int

const (
	harmless  effect = iota
	alters           // nobody knows; not what a rule that allows was written for
	redirects        // it can make programs run others
)

// effectOf returns the effect of a variable that is set to a value, or unset. A name
// that is not known alters.
func effectOf(name string, value Word) effect {
	name = strings.TrimSuffix(name, "+")
	anywhere := func(list string) bool { return has(list, name) }
	begins := func(list string) bool {
		return slices.ContainsFunc(strings.Fields(list), func(p string) bool { return strings.HasPrefix(name, p) })
	}
	switch {
	case anywhere("CI TZ LANG LANGUAGE TERM COLORTERM COLUMNS LINES NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE DEBUG VERBOSE V NODE_ENV RAILS_ENV RACK_ENV APP_ENV " +
		"GOOS GOARCH GOARM GOAMD64 CGO_ENABLED GO111MODULE GOMAXPROCS GOGC GODEBUG GOTRACEBACK GOMEMLIMIT RUST_BACKTRACE RUST_LOG RUST_MIN_STACK " +
		"PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8 SOURCE_DATE_EPOCH DEBIAN_FRONTEND PORT " +
		"GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS GIT_MERGE_AUTOEDIT"),
		begins("LC_ GIT_AUTHOR_ GIT_COMMITTER_"):
		return harmless
	case anywhere("GIT_PAGER PAGER MANPAGER GIT_EDITOR GIT_SEQUENCE_EDITOR EDITOR VISUAL") && value.Known && has("cat true :", value.Text):
		return harmless
	case anywhere("PATH CDPATH BASH_ENV ENV IFS SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND BASH_ALIASES BASH_CMDS HOME SHELL ZDOTDIR EDITOR VISUAL PAGER MANPAGER BROWSER LESS LESSOPEN LESSCLOSE " +
		"PERL5OPT PERL5LIB PERL5DB PYTHONSTARTUP PYTHONPATH PYTHONHOME PYTHONBREAKPOINT PYTEST_ADDOPTS PYTEST_PLUGINS NODE_OPTIONS NODE_PATH RUBYOPT RUBYLIB GOFLAGS GOENV GOROOT GOTOOLCHAIN " +
		"CC CXX LD AR RUSTC RUSTC_WRAPPER RUSTFLAGS MAKEFLAGS GNUMAKEFLAGS MFLAGS MAKEFILES MAKESHELL JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS MAVEN_OPTS GRADLE_OPTS " +
		"TAR_OPTIONS RSYNC_RSH CVS_RSH SVN_SSH RIPGREP_CONFIG_PATH FZF_DEFAULT_COMMAND GCONV_PATH LOCPATH GLIBC_TUNABLES OPENSSL_CONF HGRCPATH TERMINFO"),
		begins("LD_ DYLD_ GIT_ XDG_ BASH_FUNC_ NPM_CONFIG_ npm_config_ CARGO_ RUSTUP_ SUDO_ SSH_"):
		return redirects
	}
	return alters
}

// isSteady reports whether a program does the same whatever the folder and the
// environment are, but for the files that its words name.
func isSteady(program string) bool {
	return has("cd ls echo printf true false : test [ cat head tail wc pwd date sleep mkdir touch cp mv ln stat du df basename dirname realpath readlink seq grep egrep fgrep cut tr uniq "+
		"tee diff cmp comm sha256sum sha1sum md5sum which type expr id whoami uname hostname tree file od xxd base64 jq", program)
}

// ownOptions are the options of programs that choose another folder, another config or
// another program, in the order program: options. A name with a final = is also one with
// its value joined; those behind ! run a program.
func ownOptions(program string) (chooses, runs string) {
	switch program {
	case "go":
		return "-C -C= -modfile= -overlay= -ldflags= -gcflags= -asmflags= -gccgoflags= -compiler= -pkgdir=", "-exec= -toolexec= -vettool= -fuzztool="
	case "make", "gmake":
		return "-f -C -I --file= --makefile= --directory= --include-dir=", "--eval= -E"
	case "npm", "pnpm", "yarn":
		return "--prefix= -C --dir= --cwd= --userconfig= --globalconfig=", "--script-shell= --node-options= --init-module= --git="
	case "cargo":
		return "--config= --manifest-path= -C -Z", ""
	case "pytest", "py.test":
		return "-c -p -o --rootdir= --confcutdir= --override-ini=", ""
	case "tar", "bsdtar", "gtar":
		return "", "-I -F --use-compress-program= --to-command= --checkpoint-action= --info-script= --new-volume-script= --rsh-command="
	case "rsync":
		return "", "-e --rsh= --rsync-path="
	case "sort":
		return "", "--compress-program="
	case "split":
		return "", "--filter="
	case "rg":
		return "", "--pre= --hostname-bin="
	case "man":
		return "-C --config-file=", "-P --pager= -H --html="
	case "ssh", "scp", "sftp":
		return "", "-o -F -S -D -P"
	case "curl":
		return "-K --config=", ""
	case "wget":
		return "-e --execute= --config=", "--use-askpass="
	case "zip":
		return "", "-TT --unzip-command="
	case "gcc", "g++", "cc", "c++", "clang", "clang++":
		return "-B -specs=", "-wrapper -fplugin= -fuse-ld="
	case "docker", "podman":
		return "-H --host= --config= -c --context=", ""
	case "kubectl", "helm":
		return "--kubeconfig= --context=", ""
	case "mvn", "gradle":
		return "-f --file= -p --project-dir= -s --settings= -c -I --init-script=", ""
	case "cmake":
		return "-P -C", ""
	case "just":
		return "-f --justfile= -d --working-directory= --shell= --shell-arg= --set=", "--shell-command="
	}
	return "", ""
}

// chooses lists long options that choose another folder, another config or another
// program in whatever program has them.
const chooses = "--config --config-file --config-dir --rcfile --init-file --plugin --plugins --require --preload --prefix --directory --cwd --chdir --root --rootdir --manifest-path --project-dir " +
	"--script-shell --shell --editor --pager --loader --import --load --exec --eval --command --settings --project --workdir --exec-path --wrapper --compiler"

// nameOptions marks the options of a command that a rule that allows has to name, and
// those with which anything may run.
func (c *SimpleCommand) nameOptions() {
	program := c.name()
	own, runs := ownOptions(program)
	for i, w := range c.Words {
		if i == 0 || !w.Known {
			continue
		}
		if w.Text == "--" && program != "go" {
			break
		}
		switch {
		case matchesOption(runs, w.Text):
			c.Script, c.Named = true, len(c.Words)
		case matchesOption(own, w.Text), matchesOption(chooses, w.Text):
			c.Named = max(c.Named, min(i+2, len(c.Words)))
		case (program == "make" || program == "gmake" || program == "just") && isAssignment(w.Text):
			c.Named = max(c.Named, i+1)
		}
	}
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.HasPrefix(name, "-")
}

// matchesOption reports whether a word is one of the options in a list: the option, the
// option with a value joined or, for a short one, with a value behind it.
func matchesOption(list, word string) bool {
	if !strings.HasPrefix(word, "-") {
		return false
	}
	for o := range strings.FieldsSeq(list) {
		o = strings.TrimSuffix(o, "=")
		switch rest, ok := strings.CutPrefix(word, o); {
		case !ok:
		case rest == "", rest[0] == '=', len(o) == 2 && o[1] != '-':
			return true
		}
		if strings.HasPrefix(o, "--") && len(word) > 3 && strings.HasPrefix(o, strings.SplitN(word, "=", 2)[0]) {
			return true // shortened, as getopt_long takes it
		}
	}
	return false
}
