package confine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"fika/internal/rights/guard"
	"fika/internal/sandbox"
	"fika/internal/sandbox/confine/confinetest"
)

// newHome is a home folder with all credentials, a repository, and what work needs.
func newHome(t *testing.T) (person string, o Options) {
	t.Helper()
	person, err := os.MkdirTemp(os.Getenv("HOME"), "fika-home-") // a sandbox replaces /tmp
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(person) })
	for _, name := range confinetest.Credentials() {
		put(t, filepath.Join(person, name), "PLANTED "+name+"\n")
	}
	put(t, filepath.Join(person, ".dotfiles/gitconfig"), "[user]\n\tname = Ann\n\temail = ann@example.org\n[alias]\n\tst = status --short\n[include]\n\tpath = ~/.dotfiles/more\n")
	put(t, filepath.Join(person, ".dotfiles/more"), "[core]\n\texcludesFile = ~/.dotfiles/ignore\n")
	put(t, filepath.Join(person, ".dotfiles/ignore"), "*.ignored\n")
	must(t, os.Symlink(".dotfiles/gitconfig", filepath.Join(person, ".gitconfig")))
	put(t, filepath.Join(person, ".local/bin/mine"), "#!/bin/sh\necho my program\n")
	must(t, os.Chmod(filepath.Join(person, ".local/bin/mine"), 0o755))
	put(t, filepath.Join(person, "go/pkg/mod/cache/download/x"), "")
	put(t, filepath.Join(person, "src/shop/file"), "work\n")
	must(t, os.Symlink("src/shop", filepath.Join(person, "work")))
	runGit(t, filepath.Join(person, "src/shop"), "init", "-q")
	path := filepath.Join(person, ".local/bin") + ":/usr/bin:/bin"
	getenv := func(name string) string { return map[string]string{"HOME": person, "PATH": path}[name] }
	return person, Options{
		Probe: &Probe{}, Mode: sandbox.Best, Paths: guard.Paths{Persons: []string{person}, Homes: []string{filepath.Join(person, ".fika")}}, Getenv: getenv,
		Temp: filepath.Join(person, ".fika/tmp"), Caches: filepath.Join(person, ".fika/cache"), Aside: filepath.Join(person, ".fika/aside"), Calls: filepath.Join(person, ".fika/calls"),
	}
}

// in runs a script in a workspace, confined to o.
func in(t *testing.T, o Options, workspace, script string) (string, error) {
	t.Helper()
	got, err := New(o).Tools(workspace).Confine("/bin/bash", []string{"-c", script})
	must(t, err)
	cmd := exec.Command(got.Path, got.Args...)
	cmd.Dir, cmd.ExtraFiles = workspace, got.Files
	cmd.Env = append([]string{"PATH=" + o.Getenv("PATH"), "HOME=" + o.Getenv("HOME"), "LANG=C.UTF-8"}, got.Env...)
	out, err := cmd.CombinedOutput()
	if said := got.Ended(); len(said) > 0 {
		t.Errorf("undone: %q", said)
	}
	return string(out), err
}

// eachTier runs a test in each tier that works here. Tier full is tried in a home that
// is not in a folder for temporary files, which each call has its own of.
func eachTier(t *testing.T, test func(t *testing.T, tier sandbox.Tier, person string, o Options)) {
	for _, tier := range []sandbox.Tier{sandbox.Full, sandbox.Landlock} {
		t.Run(string(tier), func(t *testing.T) {
			person, o := newHome(t)
			path := os.Getenv("PATH")
			if tier == sandbox.Landlock {
				withoutBubblewrap(t)
			} else if strings.HasPrefix(person, "/tmp/") {
				t.Skip("this home is in a folder for temporary files")
			}
			if found, err := o.Probe.Open(sandbox.Best); err != nil || found.Tier() != tier {
				t.Skipf("tier %s does not work here", tier)
			}
			t.Setenv("PATH", path)
			test(t, tier, person, o)
		})
	}
}

const readAll = `cd; for f in %s; do grep -qs PLANTED "$f" && echo "READ $f"; done; true`

// TestHomeIsHidden: nothing in a person's home folder is read but what is named, however
// it is called (trial row S11).
func TestHomeIsHidden(t *testing.T) {
	eachTier(t, func(t *testing.T, tier sandbox.Tier, person string, o Options) {
		script := fmt.Sprintf(readAll, strings.Join(confinetest.Credentials(), " "))
		shop := filepath.Join(person, "src/shop")
		if out, err := in(t, o, shop, script); err != nil || out != "" {
			t.Errorf("%v\n%s", err, out)
		}
		if out, _ := in(t, o, shop, `grep -rl PLANTED ~ 2>/dev/null`); out != "" {
			t.Errorf("found:\n%s", out)
		}
		if tier == sandbox.Full {
			if out, _ := in(t, o, shop, `cd; ls -A | tr '\n' ' '; ls -d .npmrc .ssh 2>/dev/null`); out != ".cache .dotfiles .fika .gitconfig .local go src " {
				t.Errorf("the home holds %q", out)
			}
		}
		o.Lend = []string{filepath.Join(person, "letters")}
		if out, err := in(t, o, shop, script); err != nil || out != "READ letters/diary.txt\n" {
			t.Errorf("lent: %v\n%s", err, out)
		}
		o.Lend, o.HomeReadable = nil, true
		out, err := in(t, o, shop, script)
		if read := strings.Count(out, "READ"); err != nil || tier == sandbox.Full && read < 60 || strings.Contains(out, "READ .ssh") {
			t.Errorf("with home = readable %d of %d are read: %v\n%s", read, len(confinetest.Credentials()), err, out)
		}
	})
}

// TestPlantedLinkShowsNothing: a folder of the workspace that is in PATH cannot be
// replaced by a link to something hidden.
func TestPlantedLinkShowsNothing(t *testing.T) {
	eachTier(t, func(t *testing.T, _ sandbox.Tier, person string, o Options) {
		shop := filepath.Join(person, "src/shop")
		getenv := o.Getenv
		o.Getenv = func(name string) string {
			if name == "PATH" {
				return filepath.Join(shop, "bin") + ":" + getenv(name)
			}
			return getenv(name)
		}
		out, err := in(t, o, shop, `ln -s ~/.ssh bin && ln -s ~/letters lib`)
		if err != nil {
			t.Fatal(out)
		}
		if out, _ := in(t, o, shop, `cat ~/.ssh/* ~/letters/* bin/* lib/* 2>/dev/null`); out != "" {
			t.Errorf("read: %s", out)
		}
	})
}

// TestHomeOfWork: a home folder that is itself the workspace is not hidden, but for the
// secrets that are known by name.
func TestHomeOfWork(t *testing.T) {
	person, o := newHome(t)
	if found, err := o.Probe.Open(sandbox.Best); err != nil || found.Tier() != sandbox.Full || strings.HasPrefix(person, "/tmp/") {
		t.Skip("tier full does not work here")
	}
	out, err := in(t, o, person, `cat letters/diary.txt; cat .ssh/id_ed25519 .npmrc 2>/dev/null; true`)
	if err != nil || out != "PLANTED letters/diary.txt\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestWorkInHiddenHome: what people do every day needs nothing else of a home folder
// (trial row S20).
func TestWorkInHiddenHome(t *testing.T) {
	eachTier(t, func(t *testing.T, tier sandbox.Tier, person string, o Options) {
		shop := filepath.Join(person, "src/shop")
		for name, one := range map[string]struct {
			script string
			full   bool // in tier full alone
		}{
			"name":        {`git commit -q --allow-empty -m x && git log -1 --format=%an | grep -q Ann`, false},
			"alias":       {`echo x > new.go && git st | grep -q new.go`, false},
			"ignored":     {`echo x > y.ignored && ! git status --short | grep -q ignored`, false},
			"own program": {`mine | grep -q "my program"`, false},
			"config":      {`mkdir -p ~/.config/x && echo y > ~/.config/x/y && cat ~/.config/x/y`, true},
			"cache":       {`mkdir -p ~/.cache/x && echo y > ~/.cache/x/y`, true},
			"kept cache":  {`mkdir -p ~/.cache/k && echo y > ~/.cache/k/y; grep -q y "$XDG_CACHE_HOME/k/y"`, true},
			"npmrc":       {`! test -e ~/.npmrc && echo registry=x > ~/.npmrc`, true},
			"history":     {`echo x >> ~/.python_history`, true},
		} {
			if one.full && tier != sandbox.Full {
				continue
			}
			if out, err := in(t, o, shop, "set -e; "+one.script); err != nil {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		}
		if out, err := in(t, o, filepath.Join(person, "work"), `cat ~/work/file && cd ~/work && echo x > through`); err != nil && tier == sandbox.Full {
			t.Errorf("a workspace by a link: %v\n%s", err, out)
		}
		if data, err := os.ReadFile(filepath.Join(person, ".npmrc")); err != nil || string(data) != "PLANTED .npmrc\n" {
			t.Errorf("the person's file has changed: %v, %q", err, data)
		}
		if out, err := in(t, o, shop, `test ! -e ~/.config/x`); err != nil && tier == sandbox.Full {
			t.Errorf("what a call wrote into the home outlived it: %s", out)
		}
	})
}

// TestRootOnlyIsHidden: a command that runs as root reads what root alone can read of the
// machine no more than others do.
func TestRootOnlyIsHidden(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	eachTier(t, func(t *testing.T, _ sandbox.Tier, person string, o Options) {
		shop := filepath.Join(person, "src/shop")
		if out, err := in(t, o, shop, `cat /etc/shadow /etc/gshadow /var/cache/debconf/passwords.dat 2>/dev/null | wc -c; cat /etc/passwd /etc/hosts >/dev/null && ls /etc >/dev/null`); err != nil || out != "0\n" {
			t.Errorf("%v\n%s", err, out)
		}
		o.Lend = []string{"/etc/shadow"}
		if out, err := in(t, o, shop, `grep -q root /etc/shadow`); err != nil {
			t.Errorf("lent: %v\n%s", err, out)
		}
	})
}

// TestSocketsInHome: sockets and FIFOs of a person's programs are out of reach, however
// they were bound (trial row S9).
func TestSocketsInHome(t *testing.T) {
	eachTier(t, func(t *testing.T, tier sandbox.Tier, person string, o Options) {
		done, err := confinetest.Bind(person)
		must(t, err)
		defer done()
		names := confinetest.Sockets()
		script := `python3 - <<'P'
import os, socket
for name in "` + strings.Join(names, " ") + `".split():
    s = socket.socket(socket.AF_UNIX)
    try: s.connect(os.path.expanduser("~/" + name)); print("REACHED", name)
    except OSError: pass
try: os.write(os.open(os.path.expanduser("~/fifo"), os.O_WRONLY|os.O_NONBLOCK), b"x"); print("REACHED fifo")
except OSError: pass
P`
		if out, _ := in(t, o, filepath.Join(person, "src/shop"), script); strings.Contains(out, "REACHED") {
			t.Error(out)
		}
		cmd := exec.Command("bash", "-c", script)
		cmd.Env = append(os.Environ(), "HOME="+person)
		if out, _ := cmd.CombinedOutput(); strings.Count(string(out), "REACHED") != len(names)+1 {
			t.Errorf("not confined, these are reached:\n%s", out)
		}
	})
}

// TestHiddenFromOrdinaryUsers: the same holds for commands of a user without rights.
func TestHiddenFromOrdinaryUsers(t *testing.T) {
	if os.Geteuid() != 0 || runtime.GOOS != "linux" {
		t.Skip("needs root on Linux")
	}
	dir, err := os.MkdirTemp("/var/lib", "fika-confine-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "confine.test")
	data, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	must(t, os.WriteFile(program, data, 0o755))
	must(t, os.Chmod(program, 0o755))
	must(t, os.Chmod(dir, 0o755))
	home := filepath.Join(dir, "home")
	must(t, os.Mkdir(home, 0o700))
	must(t, os.Chown(home, 65534, 65534))
	cmd := exec.Command(program, "-test.v", "-test.run", "^(TestHomeIsHidden|TestHomeOfWork|TestWorkInHiddenHome|TestSocketsInHome)$")
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=/usr/local/bin:/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestHomeIsHidden") {
		t.Errorf("%v\n%s", err, out)
	}
}
