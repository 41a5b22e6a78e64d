package sandbox

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// tiers are the sandboxes to try, by name, and the absence of one: there each
// attempt has to succeed, or the table would prove nothing. Tier full is tried in
// both of its ways.
func tiers(t *testing.T) map[string]*Sandbox {
	t.Helper()
	out := map[string]*Sandbox{"none": {tier: None, why: "switched off"}}
	full, err := openFull(t.Context())
	switch {
	case err == nil:
		out["bubblewrap"] = &Sandbox{tier: Full, bwrap: full.bwrap}
		switch {
		case full.namespaces:
			out["namespaces"] = full
		case os.Getenv("CI") == "true":
			t.Fatal("fika's own namespaces have to work in CI")
		default:
			t.Log("fika's own namespaces are not tried: they do not work here")
		}
	case os.Getenv("CI") == "true":
		t.Fatalf("bubblewrap has to work in CI: %v", err)
	default:
		t.Logf("tier full is not tried: %v", err)
	}
	if s := openLandlock(t.Context(), ""); s.Tier() == Landlock {
		out["landlock"] = s
	} else {
		t.Logf("tier landlock is not tried: %s", s.WhyWeaker())
	}
	return out
}

// place is a person's folder with a project in it.
type place struct {
	home, project, temp string
	profile             Profile
}

func newPlace(t *testing.T) place {
	t.Helper()
	person, err := os.UserHomeDir() // rather than /tmp, which a sandbox replaces
	must(t, err)
	home, err := os.MkdirTemp(person, "fika-sandbox-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	p := place{home: home, project: filepath.Join(home, "src/shop"), temp: filepath.Join(home, "private-tmp")}
	for _, dir := range []string{p.project, p.temp, filepath.Join(home, ".ssh"), filepath.Join(home, ".fika/run")} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	must(t, os.WriteFile(filepath.Join(home, ".ssh/id"), []byte("PRIVATE-KEY"), 0o600))
	must(t, os.WriteFile(filepath.Join(home, ".fika/run/credentials"), []byte("BUS-PASSWORD"), 0o600))
	must(t, os.WriteFile(filepath.Join(home, ".bashrc"), []byte("# mine\n"), 0o644))
	git(t, p.project, "init", "-q")
	git(t, p.project, "commit", "-q", "--allow-empty", "-m", "first")
	dot := filepath.Join(p.project, ".git")
	p.profile = Profile{
		Workspace: p.project, Temp: p.temp, Repository: dot, Readable: programs(t, person), Listed: []string{home},
		Hidden:    []string{filepath.Join(home, ".ssh"), filepath.Join(home, ".fika")},
		Protected: []string{filepath.Join(dot, "hooks"), filepath.Join(dot, "config"), filepath.Join(dot, "info")},
	}
	return p
}

// programs are the folders of a person's own programs: below $HOME, or below the
// home that their account has.
func programs(t *testing.T, person string) []string {
	t.Helper()
	homes := []string{person}
	if account, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		homes = append(homes, account.HomeDir)
	}
	var out []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		for _, home := range homes {
			if rest, ok := strings.CutPrefix(dir, home+"/"); ok {
				out = append(out, filepath.Join(home, strings.Split(rest, "/")[0]))
			}
		}
	}
	return out
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// sh runs a script confined to p, in the workspace.
func (s *Sandbox) sh(t *testing.T, p Profile, script string) (string, error) {
	t.Helper()
	c, err := s.Command(p, "/bin/bash", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), c.Path, c.Args...)
	cmd.Dir = p.Workspace
	cmd.ExtraFiles = c.Files
	cmd.Env = append(append(os.Environ(), "TMPDIR=/tmp", "HOME="+filepath.Dir(filepath.Dir(p.Workspace)), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", fmt.Sprintf("OUTSIDE=%d", os.Getpid())), c.Env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// attempt is one way out.
type attempt struct {
	name, script string
	changes      string // a file of the person's that is changed when it succeeds
	lacking      []Tier // that do not deny it, and say so
}

// changed reports whether the attempt left its mark outside of the sandbox,
// where the person looks: inside, a private /tmp may hold a file of that name.
func (a attempt) changed(t *testing.T, p place) bool {
	t.Helper()
	if a.changes == "" {
		return false
	}
	data, err := os.ReadFile(filepath.Join(p.home, a.changes))
	must(t, err)
	return strings.Contains(string(data), "evil")
}

// attempts print REACHED, or change a file, when they get what they want.
// $OUTSIDE is a process outside the sandbox.
var attempts = []attempt{
	{name: "read a key", script: `grep -q PRIVATE ~/.ssh/id && echo REACHED`},
	{name: "read a key through a link", script: `ln -sf ~/.ssh/id l; grep -q PRIVATE l && echo REACHED`},
	{name: "read a key through a hard link", script: `ln ~/.ssh/id h && grep -q PRIVATE h && echo REACHED`},
	{name: "read a key through proc", script: `grep -q PRIVATE /proc/self/root$HOME/.ssh/id && echo REACHED`},
	{name: "read a key through the parent", script: `grep -q PRIVATE /proc/$OUTSIDE/root$HOME/.ssh/id && echo REACHED`},
	{name: "read the home of fika", script: `grep -q BUS ~/.fika/run/credentials && echo REACHED`},
	{name: "write a start-up file", script: `echo evil >> ~/.bashrc`, changes: ".bashrc"},
	{name: "environment of another process", script: `tr '\0' '\n' </proc/$OUTSIDE/environ | grep -q PATH && echo REACHED`},
	{name: "memory of another process", script: `exec 9</proc/$OUTSIDE/mem && echo REACHED`},
	{name: "descriptors of another process", script: `ls /proc/$OUTSIDE/fd/0 && readlink /proc/$OUTSIDE/fd/0 && echo REACHED`},
	{name: "signal another process", script: `kill -0 $OUTSIDE && echo REACHED`},
	{name: "change a hook", script: `mkdir -p .git/hooks; echo x > .git/hooks/pre-commit && echo REACHED`, lacking: []Tier{Landlock}},
	{name: "change the settings of git", script: `git config core.fsmonitor evil && echo REACHED`, lacking: []Tier{Landlock}},
	{name: "rename the repository", script: `mv .git .g2 && echo REACHED; mv .g2 .git`, lacking: []Tier{Landlock}},
	{name: "rename the hooks", script: `mv .git/hooks .git/h2 && echo REACHED; mv .git/h2 .git/hooks`, lacking: []Tier{Landlock}},
	{name: "a name space of its own", script: `unshare -U true && echo REACHED`},
	{name: "a socket to the kernel's packets", script: `python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)' && echo REACHED`},
	{name: "a virtual machine's socket", script: `python3 -c 'import socket; socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)' && echo REACHED`},
	{name: "typing for the person", script: `python3 -c '
import fcntl, errno
try: fcntl.ioctl(0, 0x5412, b"x")
except OSError as e: exit(e.errno == errno.EPERM)' && echo REACHED`},
}

func TestEscapes(t *testing.T) {
	for name, s := range tiers(t) {
		tier := s.Tier()
		t.Run(name, func(t *testing.T) {
			for _, a := range attempts {
				t.Run(a.name, func(t *testing.T) {
					p := newPlace(t)
					out, _ := s.sh(t, p.profile, a.script)
					if strings.Contains(out, "fika: ") || strings.Contains(out, "bwrap: ") {
						t.Errorf("it was not started:\n%s", out)
					}
					reached := strings.Contains(out, "REACHED") || a.changed(t, p)
					expected := tier == None
					for _, l := range a.lacking {
						expected = expected || l == tier
					}
					if reached && !expected {
						t.Errorf("reached:\n%s", out)
					}
					if !reached && tier == None {
						t.Logf("not here: %s", out)
					}
				})
			}
		})
	}
}

// TestNetwork: a listener of this machine cannot be reached without the network.
func TestNetwork(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	script := fmt.Sprintf(`exec 9<>/dev/tcp/127.0.0.1/%d && echo REACHED`, l.Addr().(*net.TCPAddr).Port)
	for name, s := range tiers(t) {
		tier := s.Tier()
		for _, network := range []bool{false, true} {
			p := newPlace(t)
			p.profile.Network = network
			out, _ := s.sh(t, p.profile, script)
			if reached, want := strings.Contains(out, "REACHED"), network || tier == None; reached != want {
				t.Errorf("%s, network %v: reached %v\n%s", name, network, reached, out)
			}
		}
	}
}

// TestSockets: a Unix socket outside the workspace cannot be reached.
func TestSockets(t *testing.T) {
	for name, s := range tiers(t) {
		tier := s.Tier()
		p := newPlace(t)
		path := filepath.Join(p.home, "daemon.sock")
		l, err := net.Listen("unix", path)
		must(t, err)
		script := fmt.Sprintf(`python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("%s")' && echo REACHED`, path)
		out, _ := s.sh(t, p.profile, script)
		if reached, want := strings.Contains(out, "REACHED"), tier == None; reached != want {
			t.Errorf("%s: reached %v\n%s", name, reached, out)
		}
		l.Close()
	}
}

// TestOrdinaryWork: what people do all day works inside.
func TestOrdinaryWork(t *testing.T) {
	for name, s := range tiers(t) {
		t.Run(name, func(t *testing.T) {
			for name, script := range map[string]string{
				"commit":          `echo x > f && git add f && git commit -q -m second && git log --oneline | wc -l | grep -q 2`,
				"move":            `mkdir -p a b && touch a/x && mv a/x b/y`,
				"temporary file":  `t=$(mktemp) && echo x > $t`,
				"list home":       `ls ~ >/dev/null`,
				"processes":       `python3 -c 'import multiprocessing as m; p=m.Process(target=print); p.start(); p.join(); exit(p.exitcode)'`,
				"pipes":           `seq 1000 | sort -r | head -n 1 | grep -q 999`,
				"null device":     `echo x > /dev/null`,
				"background jobs": `sleep 0 & wait`,
			} {
				p := newPlace(t)
				if out, err := s.sh(t, p.profile, script); err != nil {
					t.Errorf("%s: %v\n%s", name, err, out)
				}
			}
		})
	}
}

// TestPlacesInFoldersOfTheCall: what a person lets a call write is there also where
// it lies in a folder that each call has anew.
func TestPlacesInFoldersOfTheCall(t *testing.T) {
	for name, s := range tiers(t) {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			for _, parent := range []string{"/dev/shm", "/tmp", "/var/tmp"} {
				dir, err := os.MkdirTemp(parent, "fika-sandbox-")
				must(t, err)
				t.Cleanup(func() { os.RemoveAll(dir) })
				p.profile.Writable = append(p.profile.Writable, dir)
			}
			for _, dir := range p.profile.Writable {
				out, err := s.sh(t, p.profile, "echo done > "+dir+"/file")
				if data, _ := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(data) != "done\n" {
					t.Errorf("%s: %v, %q, the file has %q", dir, err, out, data)
				}
			}
		})
	}
}

// BenchmarkCall is the cost of confining a process that does nothing, beside
// the floor of its tier: bubblewrap alone, and an executable that does nothing.
func BenchmarkCall(b *testing.B) {
	run := func(b *testing.B, path string, args ...string) {
		for b.Loop() {
			if err := exec.Command(path, args...).Run(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("floor/true", func(b *testing.B) { run(b, "/bin/true") })
	b.Run("floor/bwrap", func(b *testing.B) { run(b, "bwrap", "--unshare-all", "--ro-bind", "/", "/", "/bin/true") })
	for _, mode := range []Mode{Best, "landlock"} {
		s, err := Open(b.Context(), mode)
		if mode == "landlock" {
			s, err = openLandlock(b.Context(), ""), nil
		}
		if err != nil {
			b.Fatal(err)
		}
		b.Run(string(s.Tier()), func(b *testing.B) {
			home, _ := os.UserHomeDir()
			p := Profile{Workspace: b.TempDir(), Hidden: []string{filepath.Join(home, ".ssh")}, Listed: []string{home}}
			for b.Loop() {
				c, err := s.Command(p, "/bin/true")
				if err != nil {
					b.Fatal(err)
				}
				cmd := exec.Command(c.Path, c.Args...)
				cmd.ExtraFiles = c.Files
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
				c.Close()
			}
		})
	}
}

// TestProcess: what a command finds itself to be in tier full, whichever way that
// is made.
func TestProcess(t *testing.T) {
	for way, s := range tiers(t) {
		if s.Tier() != Full {
			continue
		}
		t.Run(way, func(t *testing.T) {
			p := newPlace(t)
			p.profile.Shown = []string{filepath.Join(p.home, ".ssh/config")}
			must(t, os.WriteFile(p.profile.Shown[0], []byte("Host *\n"), 0o600))
			must(t, os.WriteFile(filepath.Join(p.temp, "earlier"), nil, 0o600))
			for name, script := range map[string]string{
				"no capability":      `! grep '^Cap' /proc/self/status /proc/1/status | grep -qv 0000000000000000`,
				"no new privileges":  `grep -q '^NoNewPrivs:.*1' /proc/self/status && grep -q '^Seccomp:.*2' /proc/self/status`,
				"the same user":      fmt.Sprintf(`test $(id -u) = %d -a $(id -g) = %d`, os.Getuid(), os.Getgid()),
				"the same folder":    `test "$PWD" = "$(pwd -P)" && echo x > ./here && test -s ` + filepath.Join(p.project, "here"),
				"few processes":      `test $(ls -d /proc/[0-9]* | wc -l) -le 6`,
				"a loopback":         `python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); socket.create_connection(s.getsockname())'`,
				"devices":            `head -c 9 /dev/zero > /dev/null && head -c 9 /dev/urandom > /dev/null && test -c /dev/full && test -e /dev/fd/0`,
				"terminals":          `script -qec true /dev/null`,
				"nobody's terminal":  `! cat < /dev/tty`,
				"its own shm":        `echo x > /dev/shm/x && test $(ls /dev/shm | wc -l) = 1`,
				"settings of kernel": `v=$(cat /proc/sys/vm/swappiness) && ! echo $v > /proc/sys/vm/swappiness`,
				"a private /tmp":     `test -e /tmp/earlier -a -e /var/tmp/earlier && echo x > /tmp/mine`,
				"shown in hidden":    `grep -q Host ~/.ssh/config && test $(ls ~/.ssh | wc -l) = 1 && ! touch ~/.ssh/new`,
				"no descriptors":     `test "$(ls /proc/1/fd | tr '\n' ' ')" = "0 1 2 " || test ` + way + ` = bubblewrap`,
				"its status":         `(exit 7); test $? = 7`,
			} {
				if out, err := s.sh(t, p.profile, script); err != nil {
					t.Errorf("%s: %v\n%s", name, err, out)
				}
			}
			if out, err := s.sh(t, p.profile, "exit 7"); err == nil || err.Error() != "exit status 7" {
				t.Errorf("%v\n%s", err, out)
			}
			if out, err := s.sh(t, p.profile, "kill -KILL $$"); err == nil || err.Error() != "exit status 137" {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
