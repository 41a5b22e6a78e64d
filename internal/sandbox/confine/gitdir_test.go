package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fika/internal/rights/guard"
	"fika/internal/sandbox"
)

// inEachTier runs a test in both tiers, with a repository of a person's with two commits,
// a branch "other" at the first, and the branch "main" checked out.
func inEachTier(t *testing.T, test func(t *testing.T, o Options, repo string)) {
	t.Helper()
	for _, tier := range []sandbox.Tier{sandbox.Full, sandbox.Landlock} {
		t.Run(string(tier), func(t *testing.T) {
			person, err := os.MkdirTemp(os.Getenv("HOME"), "fika-gitdir-") // a sandbox replaces /tmp
			must(t, err)
			t.Cleanup(func() { os.RemoveAll(person) })
			repo := filepath.Join(person, "repo")
			must(t, os.Mkdir(repo, 0o700))
			runGit(t, repo, "init", "-q", "-b", "main")
			runGit(t, repo, "commit", "-q", "--allow-empty", "-m", "first")
			runGit(t, repo, "branch", "other")
			must(t, os.WriteFile(filepath.Join(repo, "a.txt"), []byte("one\n"), 0o600))
			runGit(t, repo, "add", "-A")
			runGit(t, repo, "commit", "-q", "-m", "second")
			if tier == sandbox.Landlock {
				withoutBubblewrap(t)
			}
			o := Options{Probe: &Probe{}, Mode: sandbox.Best, Paths: guard.Paths{Persons: []string{person}}, Temp: filepath.Join(person, "tmp"), Aside: filepath.Join(person, "aside"), Calls: filepath.Join(person, "calls"), Getenv: os.Getenv}
			o.Limits.Agent = "coder"
			if found, err := o.Probe.Open(sandbox.Best); err != nil || found.Tier() != tier {
				t.Skipf("tier %s does not work here", tier)
			}
			test(t, o, repo)
		})
	}
}

func gitSays(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, _ := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	return strings.TrimSpace(string(out))
}

// identity makes the commits of a script somebody's.
const identity = "export GIT_AUTHOR_NAME=c GIT_AUTHOR_EMAIL=c@d GIT_COMMITTER_NAME=c GIT_COMMITTER_EMAIL=c@d GIT_EDITOR=true; set -e\n"

// TestGitWorks: an agent in a person's own tree commits, takes back what it has
// committed itself, switches, tags, stashes and rebases, and nothing of it is undone.
func TestGitWorks(t *testing.T) {
	inEachTier(t, func(t *testing.T, o Options, repo string) {
		a := New(o)
		for _, script := range []string{
			"echo two >> a.txt; git commit -qam mine; git tag v1",
			"echo three >> a.txt; git commit -qa --amend -m ours",
			"git switch -q -c feature other; git commit -q --allow-empty -m feature",
			"git rebase -q main; git commit -q --allow-empty -m more",
			"git switch -q main; git branch -D feature; echo four >> a.txt; git stash -q; git stash pop -q; git checkout -q -- a.txt",
			"git merge -q --no-edit v1 || git merge --abort; git config --list >/dev/null; git status >/dev/null",
		} {
			if said := runConfined(t, a, repo, identity+script); said != "" {
				t.Errorf("%s\nundone: %s", script, said)
			}
		}
		if got := gitSays(t, repo, "log", "-1", "--format=%s", "main"); got != "ours" {
			t.Errorf("main is at %q", got)
		}
	})
}

// TestS8OtherRefsStay: what belongs to the person or to other agents is put back, and
// what it was changed to is kept.
func TestS8OtherRefsStay(t *testing.T) {
	inEachTier(t, func(t *testing.T, o Options, repo string) {
		a := New(o)
		runGit(t, repo, "pack-refs", "--all")
		runGit(t, repo, "update-ref", "refs/fika/base/rev", "other")
		runGit(t, repo, "update-ref", "refs/remotes/fika/rev/HEAD", "other")
		runGit(t, repo, "worktree", "add", "-q", "../wt", "-b", "elsewhere")
		before := gitSays(t, repo, "for-each-ref")
		for _, script := range []string{
			"git update-ref -d refs/heads/other; rm -f .git/packed-refs",
			"git update-ref refs/heads/other main",
			"git update-ref refs/heads/main other",
			"git update-ref refs/remotes/fika/rev/HEAD main; git update-ref -d refs/fika/base/rev",
			"git replace main other",
			"rm -rf .git/worktrees/wt/HEAD; rm -rf .git/worktrees",
			"echo 'ref: refs/heads/main' > .git/refs/heads/other; ln -sf main .git/refs/heads/elsewhere",
			"rm -rf .git/refs/heads/other; mkdir -p .git/refs/heads/other; cp .git/refs/heads/main .git/refs/heads/other/x",
		} {
			runConfined(t, a, repo, script)
			after := []string{}
			for _, line := range strings.Split(gitSays(t, repo, "for-each-ref"), "\n") {
				if !strings.Contains(line, "refs/remotes/fika/coder/") && !strings.Contains(line, "refs/heads/other/x") {
					after = append(after, line)
				}
			}
			if got := strings.Join(after, "\n"); got != before {
				t.Errorf("%s\nbefore:\n%s\nafter:\n%s", script, before, got)
			}
			if got := gitSays(t, filepath.Join(filepath.Dir(repo), "wt"), "rev-parse", "--abbrev-ref", "HEAD"); got != "elsewhere" {
				t.Errorf("%s\nthe other working tree: %s", script, got)
			}
		}
	})
}

// TestS6KilledCall: what a call left is put back by the next process, if the one that
// called it was killed.
func TestS6KilledCall(t *testing.T) {
	inEachTier(t, func(t *testing.T, o Options, repo string) {
		c := &call{agent: New(o), workspace: repo}
		w, err := c.watch(c.repositories())
		must(t, err)
		must(t, os.MkdirAll(filepath.Join(repo, ".git/rebase-merge"), 0o700))
		must(t, os.WriteFile(filepath.Join(repo, ".git/rebase-merge/git-rebase-todo"), []byte("break\nexec evil\n"), 0o600))
		runGit(t, repo, "branch", "-f", "other", "main")
		runGit(t, repo, "init", "-q", "sub")
		runGit(t, filepath.Join(repo, "sub"), "config", "core.fsmonitor", "evil")
		lines, err := UndoKilled(o.Calls)
		if err != nil || len(lines) != 3 {
			t.Errorf("%q, %v", lines, err)
		}
		if gitSays(t, repo, "rev-parse", "other") != gitSays(t, repo, "rev-parse", "main~1") || gitSays(t, filepath.Join(repo, "sub"), "config", "core.fsmonitor") != "" {
			t.Error("it was not put back")
		}
		if _, err := os.Lstat(w.record); err == nil {
			t.Error("the record is left")
		}
	})
}

// TestReadOnlyCallChangesNothing: after a call that may write nothing, what a person has
// set up in a repository is as it was, whatever it makes git run.
func TestReadOnlyCallChangesNothing(t *testing.T) {
	inEachTier(t, func(t *testing.T, o Options, repo string) {
		runGit(t, repo, "config", "core.hooksPath", ".git/hooks")
		runGit(t, repo, "config", "alias.say", "!echo said")
		hook := filepath.Join(repo, ".git/hooks/pre-commit")
		must(t, os.WriteFile(hook, []byte("#!/bin/sh\n"), 0o700))
		runGit(t, repo, "clone", "-q", ".", "inner") // a repository in the workspace
		runGit(t, filepath.Join(repo, "inner"), "config", "alias.say", "!echo said")
		files := []string{hook, filepath.Join(repo, ".git/config"), filepath.Join(repo, "inner/.git/config")}
		read := func() (all string) {
			for _, path := range files {
				data, err := os.ReadFile(path)
				must(t, err)
				all += string(data)
			}
			return all
		}
		before := read()
		o.ReadOnly = true
		if said := runConfined(t, New(o), repo, "true"); said != "" {
			t.Errorf("undone: %s", said)
		}
		if now := read(); now != before {
			t.Errorf("settings and hooks are\n%s\nand were\n%s", now, before)
		}
	})
}
