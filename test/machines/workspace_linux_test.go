package machines

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// onShared makes three hosts that define an agent roamer, whose files are in a folder, and an
// agent homer, whose files are on its host. The third host sees another folder there.
func onShared(t *testing.T, more string) (l *lab, folder string) {
	t.Helper()
	l = newLab(t, 3, "")
	folder = filepath.Join(l.dir, "network")
	other := filepath.Join(l.dir, "h3", "network")
	for _, dir := range []string{folder, other} {
		check(t, os.MkdirAll(dir, 0o755))
	}
	for _, h := range l.hosts {
		dir := folder
		if h.name == "h3" {
			dir = other
		}
		h.add("config.toml", "[[agents]]\nid = \"roamer\"\nwake = true\nworkspace = \""+dir+"\"\n"+more+"[[agents]]\nid = \"homer\"\nwake = true\nrun_on = [\"h1\", \"h2\"]\n")
	}
	return l, folder
}

func lines(path string) int {
	data, _ := os.ReadFile(path)
	return strings.Count(string(data), "\n")
}

// TestSharedWorkspace: the whole of a host goes in the middle of a tool. An agent whose files
// are in a folder of the network goes on on another host that has it, and the tool, which may
// have run, has run once; a host with another folder does not take it; an agent whose files are
// on the host waits for that.
func TestSharedWorkspace(t *testing.T) {
	long(t)
	l, folder := onShared(t, "workspace_on = \"shared\"\n")
	h1, h2, h3 := l.hosts[0], l.hosts[1], l.hosts[2]
	h1.must("up")
	h3.must("up") // the first that could take it over, and must not
	asked := h3.begin("ask", "roamer", "once")
	l.until("it is in its tool", func() bool { return lines(filepath.Join(folder, "once")) == 1 })
	h3.must("ask", "homer", "hello")
	before := l.agent("roamer")
	h1.kill()
	l.until("h3 says that its folder is another one", func() bool {
		out := h3.must("agent", "list", "--all")
		return strings.Contains(out, "waits for the host h1") && strings.Contains(out, "h3 cannot go on with it") && strings.Contains(out, "is not the shared folder in which @roamer has worked")
	})
	if row := l.agent("roamer"); row.HomeID != before.HomeID {
		t.Fatalf("h3 has taken it over: %+v", row)
	}
	h2.must("up")
	l.until("h2 has it", func() bool { return l.agent("roamer").Epoch > before.Epoch })
	if row := l.agent("roamer"); row.StartedAt.Before(before.LeaseUntil) {
		t.Errorf("taken over at %s, while its lease held until %s", row.StartedAt, before.LeaseUntil)
	}
	if got := asked(); !strings.HasSuffix(got, "it may have run") {
		t.Errorf("its request ended with %q", got)
	}
	if n := lines(filepath.Join(folder, "once")); n != 1 {
		t.Errorf("the tool has written %d lines", n)
	}
	if a := h2.agents()["roamer"]; a.Host != "h2" {
		t.Errorf("it is on %q", a.Host)
	}
	h3.begin("ask", "homer", "hello")
	l.until("status says for whom homer waits", func() bool {
		out := h3.must("status")
		return strings.Contains(out, "homer") && strings.Contains(out, "waits for the host h1")
	})
	if got := h3.must("ask", "roamer", "hello"); !strings.HasSuffix(got, "hello from h2") {
		t.Errorf("it says %q", got)
	}
}

// TestTakeoverInTime: another host has the agent at most three seconds after its lease, both by
// the time of the database.
func TestTakeoverInTime(t *testing.T) {
	long(t)
	l, folder := onShared(t, "workspace_on = \"shared\"\n")
	h1, h2 := l.hosts[0], l.hosts[1]
	h1.must("up")
	h2.must("up")
	h2.begin("ask", "roamer", "once")
	l.until("it is in its tool", func() bool { return lines(filepath.Join(folder, "once")) == 1 })
	killed := time.Now()
	h1.kill()
	before := l.agent("roamer")
	l.until("h2 has it", func() bool { return l.agent("roamer").Epoch > before.Epoch })
	row := l.agent("roamer")
	t.Logf("taken over %s after the kill, %s after the lease", row.StartedAt.Sub(killed).Round(time.Millisecond), row.StartedAt.Sub(before.LeaseUntil).Round(time.Millisecond))
	if late := row.StartedAt.Sub(before.LeaseUntil); late < 0 || late > 3*time.Second {
		t.Errorf("taken over %s after its lease", late)
	}
}

// TestWithoutSharedWorkspace is the control of TestSharedWorkspace: an agent that does not say
// that its folder is shared waits for its host.
func TestWithoutSharedWorkspace(t *testing.T) {
	long(t)
	l, folder := onShared(t, "run_on = [\"h1\", \"h2\"]\n")
	h1, h2 := l.hosts[0], l.hosts[1]
	h1.must("up")
	h2.must("up")
	h2.begin("ask", "roamer", "once")
	l.until("it is in its tool", func() bool { return lines(filepath.Join(folder, "once")) == 1 })
	before := l.agent("roamer")
	h1.kill()
	l.until("its lease has lapsed, and more", func() bool { return time.Now().After(before.LeaseUntil.Add(10 * time.Second)) })
	if row := l.agent("roamer"); row.Epoch != before.Epoch || row.HomeID != before.HomeID {
		t.Errorf("it was taken over: %+v", row)
	}
	if out := h2.must("agent", "list", "--all"); !strings.Contains(out, "waits for the host h1") {
		t.Errorf("nobody says for whom it waits:\n%s", out)
	}
}

// onGit makes hosts on which the same repository has been cloned, each with a project home that
// defines an agent roamer, whose worktree is pushed.
func onGit(t *testing.T, more string) (l *lab, remote string) {
	t.Helper()
	l = newLab(t, 3, "")
	remote = l.remote()
	for _, h := range l.hosts {
		h.clone(remote)
		h.add("rules.toml", `[[rule]]
match = "what these calls have changed in files since then is not here"
reply = "it may have run"
[[rule]]
match = "write (?P<n>[a-z]+)"
tool_calls = [{name = "bash", args = {command = "echo {{.Group.n}} > {{.Group.n}}.txt && git add -A && git commit -qm 'wrote {{.Group.n}}' && echo not committed > {{.Group.n}}.draft && echo log > a.log"}}]
`)
		if h.name != "h3" {
			h.add("config.toml", "[landing]\ncheck = \"true\"\n[[agents]]\nid = \"roamer\"\nwake = true\nworkspace = \"worktree\"\n"+more)
		}
	}
	return l, remote
}

// remote makes a bare repository with a commit, and returns where it is.
func (l *lab) remote() string {
	l.Helper()
	need(l.T, "git")
	remote, seed := filepath.Join(l.dir, "remote.git"), filepath.Join(l.dir, "seed")
	git(l.T, l.dir, "init", "-q", "--bare", "-b", "main", remote)
	git(l.T, l.dir, "init", "-q", "-b", "main", seed)
	check(l.T, os.WriteFile(filepath.Join(seed, "shop.go"), []byte("package shop\n"), 0o644))
	check(l.T, os.WriteFile(filepath.Join(seed, ".gitignore"), []byte("*.log\n"), 0o644))
	git(l.T, seed, "add", "-A")
	git(l.T, seed, "commit", "-qm", "first")
	git(l.T, seed, "push", "-q", remote, "main")
	return remote
}

// repository is the host's clone of [lab.remote].
func (h *host) repository() string { return filepath.Join(h.dir, h.name, "shop") }

// clone clones a repository to the host, and makes the home of that project the host's, with
// what its home had.
func (h *host) clone(remote string) {
	h.Helper()
	repo := h.repository()
	git(h.T, h.dir, "clone", "-q", remote, repo)
	git(h.T, repo, "config", "user.name", h.name)
	git(h.T, repo, "config", "user.email", h.name+"@example.org")
	c := exec.Command("nsenter", append(h.enter("-n", "-m", "-u", "-p"), "sh", "-c", "cd "+repo+" && exec "+h.bin+" init --team none --money 0 --no-agents-md")...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(h.dir, h.name), "TERM=dumb"}
	if out, err := c.CombinedOutput(); err != nil {
		h.Fatalf("init: %v: %s", err, out)
	}
	made, err := filepath.Glob(filepath.Join(h.dir, h.name, ".fika", "projects", "*"))
	if err != nil || len(made) != 1 {
		h.Fatalf("homes of projects: %v, %v", made, err)
	}
	old := h.home
	h.home = made[0]
	for _, name := range []string{"config.toml", "rules.toml"} {
		data, err := os.ReadFile(filepath.Join(old, name))
		check(h.T, err)
		h.write(name, string(data))
	}
}

// git runs git as a person does.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestGitWorkspace: the whole of a host goes in the middle of a tool, with the worktree of an
// agent. The agent goes on on another host from what was pushed at the end of its last turn,
// and the request that was cut off is told which call's changes are not there; its work can be
// seen and landed there. What a remote refuses is said, and the agent waits for its host. Back
// on the first host, what was left there is not used.
func TestGitWorkspace(t *testing.T) {
	long(t)
	l, remote := onGit(t, "workspace_on = \"git\"\n")
	h1, h2, h3 := l.hosts[0], l.hosts[1], l.hosts[2]
	tree := func(h *host, name string) string {
		data, _ := os.ReadFile(filepath.Join(h.home, "worktrees", "roamer", name))
		return strings.TrimSpace(string(data))
	}
	h1.must("up")
	h3.must("up")
	if got := h3.must("ask", "roamer", "write one"); !strings.HasSuffix(got, "it ticked") {
		t.Fatalf("it says %q", got)
	}
	if refs := git(t, remote, "for-each-ref", "--format=%(refname)"); !strings.HasPrefix(refs, "refs/fika/roamer/") || strings.Count(refs, "\n") != 1 {
		t.Errorf("the remote has %s", refs)
	}
	asked := h3.begin("ask", "roamer", "once")
	l.until("it is in its tool", func() bool { return tree(h1, "once") == "run" })
	before := l.agent("roamer")
	h1.kill()
	h2.must("up")
	l.until("h2 has it", func() bool { return l.agent("roamer").Epoch > before.Epoch })
	if row := l.agent("roamer"); row.StartedAt.Before(before.LeaseUntil) {
		t.Errorf("taken over at %s, while its lease held until %s", row.StartedAt, before.LeaseUntil)
	}
	if got := asked(); !strings.HasSuffix(got, "it may have run") {
		t.Errorf("its request ended with %q", got)
	}
	if tree(h2, "one.txt") != "one" || tree(h2, "one.draft") != "not committed" || tree(h2, "once") != "" || tree(h2, "a.log") != "" {
		t.Errorf("h2 has one.txt %q, one.draft %q, once %q, a.log %q", tree(h2, "one.txt"), tree(h2, "one.draft"), tree(h2, "once"), tree(h2, "a.log"))
	}
	told := l.find(`SELECT content FROM entries WHERE type = 'notice' AND metadata LIKE '%"files"%'`)
	if len(told) != 1 || !strings.Contains(told[0], "is not here") || !strings.Contains(told[0], "once; sleep 1000") || strings.Contains(told[0], "wrote one") {
		t.Errorf("it is told %q", told)
	}
	if out := h2.must("agent", "diff", "roamer"); !strings.Contains(out, "one.txt") || !strings.Contains(out, "one.draft") {
		t.Errorf("its work on h2:\n%s", out)
	}

	if out := h2.must("land", "roamer", "--wait"); !strings.Contains(out, "landed") {
		t.Errorf("landing on h2 says %q", out)
	}
	if got := git(t, filepath.Join(l.dir, "h2", "shop"), "show", "fika/landing/main:one.txt"); got != "one" {
		t.Errorf("landed on h2 is %q", got)
	}

	hook := filepath.Join(remote, "hooks", "pre-receive")
	check(t, os.MkdirAll(filepath.Dir(hook), 0o755))
	check(t, os.WriteFile(hook, []byte("#!/bin/sh\necho no more room >&2\nexit 1\n"), 0o755))
	if got := h3.must("ask", "roamer", "write two"); !strings.HasSuffix(got, "it ticked") {
		t.Errorf("with a remote that refuses, it says %q", got)
	}
	if kept := l.find(`SELECT unpushed FROM workspaces WHERE unpushed <> ''`); len(kept) != 1 || !strings.Contains(kept[0], "origin refuses it") {
		t.Errorf("what is not pushed: %q", kept)
	}
	if out := h3.must("status"); !strings.Contains(out, "its last work is on its host alone: not pushed: origin refuses it") {
		t.Errorf("status does not say it:\n%s", out)
	}
	if out, _ := h2.run(h2.home, "doctor"); !strings.Contains(out, "not pushed: origin refuses it") {
		t.Errorf("doctor does not say it:\n%s", out)
	}
	before = l.agent("roamer")
	h2.kill()
	h1.boot()
	h1.must("up")
	l.until("it waits for h2", func() bool {
		out := h1.must("agent", "list", "--all")
		return strings.Contains(out, "waits for the host h2") && strings.Contains(out, "its last work is there alone: not pushed: origin refuses it")
	})
	l.until("its lease has lapsed, and more", func() bool { return time.Now().After(before.LeaseUntil.Add(10 * time.Second)) })
	if row := l.agent("roamer"); row.Epoch != before.Epoch || row.HomeID != before.HomeID {
		t.Errorf("it was taken over without its files: %+v", row)
	}

	check(t, os.Remove(hook))
	h2.boot()
	h2.must("up")
	if refs := git(t, remote, "for-each-ref", "--format=%(refname)", "refs/fika"); strings.Contains(refs, "\n") {
		t.Errorf("refs that are behind others stay at the remote:\n%s", refs)
	}
	if got := h3.must("ask", "roamer", "write three"); !strings.HasSuffix(got, "it ticked") {
		t.Errorf("back on h2, it says %q", got)
	}
	if kept := l.find(`SELECT unpushed FROM workspaces WHERE unpushed <> ''`); len(kept) != 0 {
		t.Errorf("not pushed: %q", kept)
	}
	before = l.agent("roamer")
	h2.kill()
	l.until("h1 has it", func() bool { return l.agent("roamer").HomeID != before.HomeID })
	if got := h3.must("ask", "roamer", "write four"); !strings.HasSuffix(got, "it ticked") {
		t.Errorf("back on h1, it says %q", got)
	}
	if tree(h1, "two.txt") != "two" || tree(h1, "three.txt") != "three" || tree(h1, "once") != "" {
		t.Errorf("h1 has two.txt %q, three.txt %q, once %q", tree(h1, "two.txt"), tree(h1, "three.txt"), tree(h1, "once"))
	}
	kept := false
	for _, ref := range strings.Fields(git(t, filepath.Join(l.dir, "h1", "shop"), "for-each-ref", "--format=%(refname)", "refs/fika/discarded")) {
		kept = kept || strings.Contains("\n"+git(t, filepath.Join(l.dir, "h1", "shop"), "ls-tree", "--name-only", ref)+"\n", "\nonce\n")
	}
	if !kept {
		t.Error("what was left on h1 is not kept")
	}
	if out := h1.must("agent", "merge", "roamer"); !strings.Contains(out, "merge") {
		t.Errorf("merge: %s", out)
	}
	if _, err := os.Stat(filepath.Join(l.dir, "h1", "shop", "one.txt")); err != nil {
		t.Error("its work of three hosts does not land")
	}
}

// TestThawedOwner: a host is frozen in the middle of a tool, and another takes an agent over whose
// worktree is pushed. When the first thaws, nothing that it does is used: the row stays that of the
// new owner, whatever the old one pushes.
func TestThawedOwner(t *testing.T) {
	long(t)
	l, remote := onGit(t, "workspace_on = \"git\"\n")
	h1, h2 := l.hosts[0], l.hosts[1]
	h1.must("up")
	h2.must("up")
	if got := h2.must("ask", "roamer", "write one"); !strings.HasSuffix(got, "it ticked") {
		t.Fatalf("it says %q", got)
	}
	asked := h2.begin("ask", "roamer", "once")
	shown := filepath.Join(h1.home, "worktrees", "roamer", "once")
	l.until("it is in its tool", func() bool { return lines(shown) == 1 })
	before := l.agent("roamer")
	old := l.find(`SELECT ref || ' ' || hash FROM workspaces`)
	h1.signalAll(syscall.SIGSTOP)
	l.until("h2 has it", func() bool { return l.agent("roamer").Epoch > before.Epoch })
	if got := asked(); !strings.HasSuffix(got, "it may have run") {
		t.Errorf("its request ended with %q", got)
	}
	ref, hash, _ := strings.Cut(old[0], " ")
	stray := git(t, remote, "commit-tree", hash+"^{tree}", "-p", hash, "-m", "what a thawed owner pushes")
	git(t, remote, "update-ref", ref, stray)
	row := l.find(`SELECT host || ' ' || ref || ' ' || hash FROM workspaces`)
	h1.signalAll(syscall.SIGCONT)
	l.until("h1 has let it go", func() bool { return len(h1.processes("agent run roamer")) == 0 && len(h1.processes("sleep 1000")) == 0 })
	if now := l.find(`SELECT host || ' ' || ref || ' ' || hash FROM workspaces`); now[0] != row[0] {
		t.Errorf("the row was %q and is %q", row[0], now[0])
	}
	if lines(shown) != 1 || lines(filepath.Join(h2.home, "worktrees", "roamer", "once")) != 0 {
		t.Error("the tool has run again, or what it did on h1 is on h2")
	}
	if got := h1.must("ask", "roamer", "write two"); !strings.HasSuffix(got, "it ticked") {
		t.Errorf("afterwards it says %q", got)
	}
	if got := git(t, remote, "rev-parse", ref); got != stray {
		t.Errorf("what the old owner pushed is gone: %s", got)
	}
	if _, err := os.Stat(filepath.Join(h2.home, "worktrees", "roamer", "two.txt")); err != nil {
		t.Error("it does not work on h2")
	}

	if out, code := h1.run(h1.home, "agent", "run", "roamer"); code == 0 || !strings.Contains(out, "@roamer is on the host h2") {
		t.Errorf("run by hand where it is not: %s", out)
	}
	if out := h1.must("agent", "move", "roamer", "h1"); !strings.Contains(out, "@roamer is on h1") {
		t.Errorf("moved, with its files: %s", out)
	}
	if got := h2.must("ask", "roamer", "hello"); !strings.HasSuffix(got, "hello from h1") {
		t.Errorf("moved, it says %q", got)
	}
	if _, err := os.Stat(filepath.Join(h1.home, "worktrees", "roamer", "two.txt")); err != nil || lines(shown) != 0 {
		t.Error("it is on h1 without what it did on h2, or with what was left there")
	}
}

// TestTaskOfTheBoardGoesAlong: a task of the board, which has a worktree of its own, goes on with
// its agent on another host.
func TestTaskOfTheBoardGoesAlong(t *testing.T) {
	long(t)
	l, remote := onGit(t, "workspace_on = \"git\"\nboard = true\n")
	h1, h2, h3 := l.hosts[0], l.hosts[1], l.hosts[2]
	for _, h := range l.hosts {
		h.add("rules.toml", "[[rule]]\nmatch = \"dig a hole\"\ntool_calls = [{name = \"bash\", args = {command = \"echo dug >> dug; sleep 1000\"}}]\n")
	}
	h1.must("up")
	h3.must("up")
	h3.must("board", "add", "dig a hole")
	tree := func(h *host) string { return filepath.Join(h.home, "worktrees", "task-1") }
	l.until("it is in its tool", func() bool { return lines(filepath.Join(tree(h1), "dug")) == 1 })
	if refs := git(t, remote, "for-each-ref", "--format=%(refname)", "refs/fika/task-1"); refs == "" {
		t.Error("the tree of the task was not pushed when it began")
	}
	before := l.agent("roamer")
	h1.kill()
	h2.must("up")
	l.until("h2 has it", func() bool { return l.agent("roamer").Epoch > before.Epoch })
	l.until("the task ends", func() bool { return strings.Contains(h3.must("board", "list", "--state", "done"), "dig a hole") })
	if lines(filepath.Join(tree(h1), "dug")) != 1 {
		t.Error("the tool has run again")
	}
	if told := l.find(`SELECT content FROM entries WHERE type = 'notice' AND metadata LIKE '%"files"%'`); len(told) != 1 || !strings.Contains(told[0], "echo dug") {
		t.Errorf("it is told %q", told)
	}
	if home := l.find(`SELECT h.name FROM workspaces w JOIN hosts h ON h.id = w.host WHERE w.task = 1`); len(home) != 1 || home[0] != "h2" {
		t.Errorf("its files are on %v", home)
	}
}
