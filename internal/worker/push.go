package worker

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fika/internal/app"
	"fika/internal/repository/worktree"
)

// Pushes push what has landed with the person's own git, and run the command that comes
// after that. Both see the environment of the hub but for what is fika's own, and nobody who
// could be asked for a password.
type Pushes struct {
	App     *app.App
	Project string        // the project's folder
	Mark    string        // names the processes, which do not outlive a call
	Longest time.Duration // of a push; 0: five minutes
}

// pushTime bounds a push, and what runs after it.
const pushTime = 5 * time.Minute

// Push pushes a commit. It never forces anything: the branch of the remote moves only if the
// commit contains what it is then.
func (w Pushes) Push(ctx context.Context, p worktree.Push) (worktree.Pushed, error) {
	return w.pushTo(ctx, p, "refs/heads/"+p.Branch)
}

// pushTo is Push to a ref.
func (w Pushes) pushTo(ctx context.Context, p worktree.Push, ref string) (worktree.Pushed, error) {
	said, code, over, err := w.run(ctx, cmp.Or(w.Longest, pushTime), append(w.environ(), w.ssh(ctx)...), "git",
		// A hook of the person's that takes part is theirs to run, see [worktree.Target.PushHook].
		"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.askPass=", "-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=60",
		"push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-signed", "--no-force-with-lease", "--no-force", "--recurse-submodules=no", "--no-progress",
		"--", p.Remote, p.Commit+":"+ref)
	switch {
	case err != nil || code == 0 && !over:
		return worktree.Pushed{OK: err == nil, Output: said}, err
	case over:
		return worktree.Pushed{Reason: fmt.Sprintf("%s has not answered within %s", p.Remote, cmp.Or(w.Longest, pushTime)), Output: said}, nil
	}
	return worktree.Pushed{Reason: pushReason(p, said), Output: said}, nil
}

// drop removes a ref of a remote that names a commit.
func (w Pushes) drop(ctx context.Context, remote, commit, ref string) (gone bool, err error) {
	_, code, over, err := w.run(ctx, cmp.Or(w.Longest, pushTime), append(w.environ(), w.ssh(ctx)...), "git",
		"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.askPass=", "-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=60",
		"push", "--quiet", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no", "--force-with-lease="+ref+":"+commit, "--", remote, ":"+ref)
	return err == nil && code == 0 && !over, err
}

// fetch fetches a ref of a remote to one of the project's repository, and changes no other. All
// objects are checked.
func (w Pushes) fetch(ctx context.Context, remote, from, to string) (worktree.Pushed, error) {
	said, code, over, err := w.run(ctx, cmp.Or(w.Longest, pushTime), append(w.environ(), w.ssh(ctx)...), "git",
		"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.askPass=", "-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=60",
		"-c", "fetch.fsckObjects=true", "-c", "fetch.writeCommitGraph=false",
		"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance", "--no-prune", "--refmap=", "--", remote, "+"+from+":"+to)
	switch {
	case err != nil || code == 0 && !over:
		return worktree.Pushed{OK: err == nil, Output: said}, err
	case over:
		return worktree.Pushed{Reason: fmt.Sprintf("%s has not answered within %s", remote, cmp.Or(w.Longest, pushTime)), Output: said}, nil
	}
	return worktree.Pushed{Reason: "git fetch fails: " + lastWords(said), Output: said}, nil
}

// After runs a command of the person's in the project's folder. Variables say what was
// pushed.
func (w Pushes) After(ctx context.Context, p worktree.Push, command string) (worktree.Pushed, error) {
	offers := strings.Trim(fmt.Sprint(p.Offers), "[]")
	env := append(w.environ(), "FIKA_LANDED_REMOTE="+p.Remote, "FIKA_LANDED_BRANCH="+p.Branch, "FIKA_LANDED_INTO="+p.Into, "FIKA_LANDED_COMMIT="+p.Commit, "FIKA_LANDED_OFFERS="+offers)
	said, why, err := w.own().shell(ctx, pushTime, env, command)
	return worktree.Pushed{OK: err == nil && why == "", Reason: why, Output: said}, err
}

// own returns what runs the programs.
func (w Pushes) own() own { return own{w.App, w.Project, w.Mark} }

func (w Pushes) run(ctx context.Context, longest time.Duration, env []string, path string, args ...string) (said string, code int, over bool, err error) {
	return w.own().run(ctx, longest, env, path, args...)
}

func (w Pushes) environ() []string { return w.own().environ() }

// ssh returns the variable that makes the person's ssh ask nothing. Another program than ssh
// is left as it is: it has no terminal.
func (w Pushes) ssh(ctx context.Context) []string {
	command := os.Getenv("GIT_SSH_COMMAND")
	if command == "" && os.Getenv("GIT_SSH") != "" {
		return nil
	}
	if command == "" {
		said, code, _, err := w.run(ctx, pushTime, w.environ(), "git", "config", "--get", "core.sshCommand")
		if err == nil && code == 0 {
			command = strings.TrimSpace(said)
		}
	}
	command = cmp.Or(command, "ssh")
	if words := strings.Fields(command); len(words) == 0 || filepath.Base(words[0]) != "ssh" {
		return nil
	}
	return []string{"GIT_SSH_COMMAND=" + command + " -o BatchMode=yes"}
}

// pushReason says in one line why git has not pushed: with --porcelain it says so of each ref
// after a "!"; else its own words, up to the one that ends it.
func pushReason(p worktree.Push, said string) string {
	var words []string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "!\t"); ok {
			_, why, _ := strings.Cut(rest, "\t")
			if why, ok := strings.CutPrefix(why, "[remote rejected] "); ok {
				return fmt.Sprintf("%s refuses it: %s", p.Remote, strings.Trim(why, "()"))
			}
			if strings.HasPrefix(why, "[rejected]") {
				return fmt.Sprintf("%s of %s has commits that %s does not have here, and nothing is forced: merge them into %s, or delete that branch once its work is elsewhere (git push %s --delete %s)",
					p.Branch, p.Remote, p.Branch, p.Into, p.Remote, p.Branch)
			}
			return why
		}
		if line != "" {
			words = append(words, line)
		}
		if strings.HasPrefix(line, "fatal: ") {
			break
		}
	}
	return "git push fails: " + lastWords(strings.Join(words, "\n"))
}

// lastWords returns the last three lines of what git said, as one.
func lastWords(said string) string {
	words := strings.FieldsFunc(said, func(r rune) bool { return r == '\n' || r == '\r' })
	if len(words) > 3 {
		words = words[len(words)-3:]
	}
	return cmp.Or(strings.Join(words, "; "), "it says nothing")
}
