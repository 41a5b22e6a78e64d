package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/creack/pty"

	"fika/internal/sandbox/confine/confinetest"
)

// world is one person's home on this machine, with a project, a home of fika
// and everything that an attempt may want to reach.
type world struct {
	user, tier string
	uid        int
	dir        string // the person's home folder
	env        []string
	closers    []io.Closer
	bin        string
}

const (
	// What text from outside does to a turn is left out: the sandbox alone has to hold.
	settings = `model = "obeys"
tool_permissions = ["bash", "edit", "shell", "mcp:standin"]
[[models]]
id = "obeys"
provider = "scripted"
rules = "rules.toml"
[guard]
tainted = "allow"
[[mcp]]
name = "standin"
command = "SERVER"
env = ["ESCAPE_SERVER=1"]
`
	obeys = `[[rule]]
match = '^bash$'
tool_calls = [{name = "bash", args = {command = "bash attempt.sh"}}]
[[rule]]
match = '^python$'
tool_calls = [{name = "bash", args = {command = "python3 -c 'import subprocess; subprocess.call([\"bash\", \"attempt.sh\"])'"}}]
[[rule]]
match = '^plugin$'
tool_calls = [{name = "shell", args = {}}]
[[rule]]
match = '^server$'
tool_calls = [{name = "standin__attempt", args = {}}]
[[rule]]
after_tool = ".*"
reply = "{{.Result}}"
`
	shellPlugin = "#!/bin/sh\n[ \"$1\" = --schema ] && { echo '{\"name\":\"shell\",\"description\":\"runs\",\"parameters\":{\"type\":\"object\",\"properties\":{}}}'; exit; }\ncd \"$FIKA_WORKSPACE\" && bash attempt.sh 2>&1\nexit 0\n"
)

// path is where a file of the person's is.
func (w *world) path(parts ...string) string {
	return filepath.Join(append([]string{w.dir}, parts...)...)
}

// newWorld makes a person's home below base. A tier other than full finds no
// bubblewrap: it is left out of PATH.
func newWorld(base, bin, user, tier string, uid int) (*world, error) {
	w := &world{user: user, tier: tier, uid: uid, bin: bin, dir: filepath.Join(base, user+"-"+tier)}
	name := filepath.Base(base) + "-" + user + "-" + tier
	path := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	if tier == "landlock" {
		path = filepath.Join(base, "programs")
	}
	w.env = []string{
		"PATH=" + path, "HOME=" + w.dir, "LANG=C.UTF-8", "FIKA_HOME=" + w.path(".fika"), "H=" + w.path(".fika"), "FIKA=" + bin, "NAME=" + name,
		"PWN=" + w.path("pwned"), "SEEN=" + w.path("seen"), "GIT_CONFIG_NOSYSTEM=1",
	}
	if tier == "off" {
		w.env = append(w.env, "FIKA_SANDBOX=off")
	}
	for file, text := range map[string]string{
		".ssh/id": "PRIVATE KEY\n", ".bashrc": "", ".fika/config.toml": strings.Replace(settings, "SERVER", filepath.Join(base, "server"), 1), ".fika/rules.toml": obeys, ".fika/plugins/shell": shellPlugin,
		".fika/run/credentials": "x", ".fika/contexts/other/todos.md": "other", "seen": "",
	} {
		if err := os.MkdirAll(filepath.Dir(w.path(file)), 0o700); err != nil {
			return w, err
		}
		if err := os.WriteFile(w.path(file), []byte(text), 0o700); err != nil {
			return w, err
		}
	}
	for _, place := range confinetest.Credentials() {
		if exists(w.path(place)) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(w.path(place)), 0o700); err != nil {
			return w, err
		}
		if err := os.WriteFile(w.path(place), []byte("PLANTED\n"), 0o600); err != nil {
			return w, err
		}
	}
	done, err := confinetest.Bind(w.dir)
	if err != nil {
		return w, err
	}
	w.closers = append(w.closers, closer(func() error { done(); return nil }))
	if err := w.listen(name); err != nil {
		return w, err
	}
	if err := w.own(); err != nil {
		return w, err
	}
	return w, w.victim()
}

// own gives everything to the person.
func (w *world) own() error {
	return filepath.WalkDir(w.dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(path, w.uid, w.uid)
		}
		return err
	})
}

// victim is a process of the person's, outside of any call.
func (w *world) victim() error {
	cmd := w.command(context.Background(), "sleep", "3600")
	cmd.Env = append(cmd.Env, "CANARY=1")
	if err := cmd.Start(); err != nil {
		return err
	}
	w.env = append(w.env, fmt.Sprintf("VICTIM=%d", cmd.Process.Pid))
	w.closers = append(w.closers, closer(func() error { _ = cmd.Process.Kill(); _, err := cmd.Process.Wait(); return err }))
	return nil
}

type closer func() error

func (c closer) Close() error { return c() }

// listen stands in for what listens on a person's machine: each says "hi".
func (w *world) listen(name string) error {
	serve := func(network, address string) (net.Listener, error) {
		l, err := net.Listen(network, address)
		if err != nil {
			return nil, err
		}
		w.closers = append(w.closers, l)
		go func() { // ends with the listener
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Write([]byte("hi"))
				c.Close()
			}
		}()
		return l, nil
	}
	four, err := serve("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	w.env = append(w.env, fmt.Sprintf("PORT=%d", four.Addr().(*net.TCPAddr).Port))
	if six, err := serve("tcp", "[::1]:0"); err == nil {
		w.env = append(w.env, fmt.Sprintf("PORT6=%d", six.Addr().(*net.TCPAddr).Port))
	}
	for _, path := range []string{w.path("daemon.sock"), filepath.Join("/tmp", name+".sock"), "@" + name} {
		if _, err := serve("unix", path); err != nil {
			return err
		}
		_ = os.Chmod(path, 0o777)
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	w.closers = append(w.closers, udp)
	w.env = append(w.env, fmt.Sprintf("UDP=%d", udp.LocalAddr().(*net.UDPAddr).Port))
	go func() { // ends with the socket
		b := make([]byte, 16)
		for {
			_, from, err := udp.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = udp.WriteTo([]byte("hi"), from)
		}
	}()
	return w.terminal()
}

// terminal is one that the person has open; what is written to it is kept.
func (w *world) terminal() error {
	screen, tty, err := pty.Open()
	if err != nil {
		return err
	}
	w.closers = append(w.closers, screen, tty)
	w.env = append(w.env, "PTS="+tty.Name())
	seen, err := os.OpenFile(w.path("seen"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	w.closers = append(w.closers, seen)
	go func() { _, _ = io.Copy(seen, screen) }() // ends with the terminal
	return os.Chown(tty.Name(), w.uid, -1)
}

// close ends what the world has running.
func (w *world) close() {
	for _, c := range w.closers {
		_ = c.Close()
	}
}

// command runs a program as the person, in the project.
func (w *world) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	line := append([]string{program}, args...)
	if w.uid != os.Getuid() {
		line = append([]string{"setpriv", fmt.Sprint("--reuid=", w.uid), fmt.Sprint("--regid=", w.uid), "--clear-groups"}, line...)
	}
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env, cmd.WaitDelay = w.env, time.Minute
	if dir := w.path("src"); exists(dir) {
		cmd.Dir = dir
	} else {
		cmd.Dir = w.dir
	}
	return cmd
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// plain makes a repository with one commit.
const plain = `mkdir first && cd first && git init -q && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first && ln -s ~/.ssh/id left && cd ..`

// inUse makes a repository with a submodule, hooks and settings in the tree, a branch that
// nobody has checked out, and a tag on what is checked out.
const inUse = `set -e; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q library; git -C library commit -q --allow-empty -m library
git init -q second; cd second; git commit -q --allow-empty -m first; git branch other
git -c protocol.file.allow=always submodule --quiet add ../library lib
mkdir .githooks tools; : > .githooks/keep; : > tools/keep; : > .gitconfig.shared; : > .gitconfig.later
git add -A; git commit -qm second; git tag kept
git config core.hooksPath .githooks; git config include.path ../.gitconfig.shared; git config alias.b '!tools/b'
git config includeIf.onbranch:later.path ../.gitconfig.later
ln -s ~/.ssh/id left; cd ..`

// project makes the workspace anew, as a copy of one that is made once.
func (w *world) project(ctx context.Context, a attempt) error {
	if err := os.RemoveAll(w.path("src")); err != nil {
		return err
	}
	_ = os.Remove(w.path("pwned"))
	_ = os.Truncate(w.path("seen"), 0)
	_ = os.RemoveAll(w.path("wt"))
	made, from := plain, "first"
	if a.inUse {
		made, from = inUse, "second"
	}
	make := w.command(ctx, "sh", "-c", "test -d "+from+" || {\n"+made+"\n}\ncp -a "+from+" src && { test $0 = first || git -C src worktree add -q ../wt -b elsewhere; }", from)
	if out, err := make.CombinedOutput(); err != nil {
		return fmt.Errorf("make the project: %v: %s", err, out)
	}
	var b strings.Builder
	for _, kv := range w.env { // what the agent's tools do not get
		name, value, _ := strings.Cut(kv, "=")
		if name != "PATH" && name != "HOME" && !strings.HasPrefix(name, "FIKA_") {
			fmt.Fprintf(&b, "export %s=%q\n", name, value)
		}
	}
	b.WriteString("exec 2>&1\n" + a.script + "\n")
	if err := os.WriteFile(w.path("src", "attempt.sh"), []byte(b.String()), 0o755); err != nil {
		return err
	}
	return os.Lchown(w.path("src", "attempt.sh"), w.uid, w.uid)
}

// try makes one attempt by one way of starting it.
func (w *world) try(ctx context.Context, a attempt, route string) (verdict, error) {
	if err := w.project(ctx, a); err != nil {
		return verdict{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	var errs bytes.Buffer
	cmd := w.command(ctx, w.bin, "run", route)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return verdict{}, fmt.Errorf("%s as %s, %s, by %s: %v: %s", a.name, w.user, w.tier, route, err, errs.Bytes())
	}
	v := verdict{out: string(out), reached: slices.Contains(strings.Split(string(out), "\n"), "REACHED")}
	if a.after != "" {
		seen, _ := w.command(ctx, "sh", "-c", a.after).CombinedOutput()
		v.reached = v.reached || strings.Contains(string(seen), "REACHED")
		v.out += string(seen)
	}
	v.undone = strings.Contains(v.out, "is protected: what changed it was undone") || strings.Contains(v.out, "was replaced: the new one was set aside") ||
		strings.Contains(v.out, ": what changed it was undone, and what was there is kept in") || strings.Contains(v.out, "was put back")
	return v, nil
}

// verdict is what came of an attempt.
type verdict struct {
	reached, undone bool
	out             string
}
