package worktree

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"

	"fika"
	"fika/internal/repository/git"
)

// Push is one push of what has landed: of one commit to one branch of a remote.
type Push struct {
	Remote, Branch, Into, Commit string
	Offers                       []fika.OfferNumber // that are told of it
}

// Pushed is what became of a push, or of the command after it.
type Pushed struct {
	OK     bool
	Reason string // why it is not OK, in one line
	Output string // the end of what was printed
}

// PushBranch returns the branch of a remote to which what has landed is pushed. It is never
// the branch itself.
func (t Target) PushBranch() string { return "fika/landing/" + t.Into }

// PushByHand returns the command with which a person's own git pushes what has landed.
func (t Target) PushByHand(remote string) string {
	return "git push " + remote + " " + t.Short() + ":refs/heads/" + t.PushBranch()
}

// HasRemote reports whether the repository has a remote of this name.
func (t Target) HasRemote(ctx context.Context, remote string) (bool, error) {
	out, err := git.Run(ctx, t.Project, "remote")
	return slices.Contains(lines(out), remote), err
}

// PushHook reports whether a hook of the person's runs when they push.
func (t Target) PushHook(ctx context.Context) (bool, error) {
	at, err := git.HookPath(ctx, t.Project, "pre-push")
	if err != nil {
		return false, err
	}
	info, err := os.Stat(at)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0, nil
}

// Upstream returns what of the remote has all that has landed, as far as git knows without
// asking it: the branch to which it was pushed, or the one on which it is to land; "":
// neither.
func (t Target) Upstream(ctx context.Context, remote, landed string) (string, error) {
	for _, branch := range []string{t.PushBranch(), t.Into} {
		at, err := t.commitOf(ctx, "refs/remotes/"+remote+"/"+branch)
		if err != nil {
			return "", err
		}
		if at == "" {
			continue
		}
		if rest, err := t.missing(ctx, at, landed); err != nil || len(rest) == 0 {
			return remote + "/" + branch, err
		}
	}
	return "", nil
}

// missing returns the commits behind landed that are neither behind another commit nor taken
// over there in another shape: squashed or put on something else, as a pull request is. Such
// a commit has the trailer of the offer and the first line of what was offered. The number
// alone would not do, because other homes number their offers, too.
func (t Target) missing(ctx context.Context, at, landed string) ([]string, error) {
	ours, err := t.messages(ctx, at+".."+landed)
	if err != nil || len(ours) == 0 {
		return nil, err
	}
	theirs, err := t.messages(ctx, landed+".."+at)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, c := range ours {
		mine := trailersIn(c.message)
		if len(mine) == 0 || !slices.ContainsFunc(theirs, func(o message) bool {
			return slices.Contains(trailersIn(o.message), mine[len(mine)-1]) && strings.Contains(o.message, c.title)
		}) {
			continue
		}
		taken[c.commit] = true
		if c.merge {
			behind, err := git.Run(ctx, t.Project, "rev-list", c.commit+"^1.."+c.commit)
			if err != nil {
				return nil, err
			}
			for _, commit := range lines(behind) {
				taken[commit] = true
			}
		}
	}
	var rest []string
	for _, c := range ours {
		if !taken[c.commit] && !c.merge {
			rest = append(rest, c.commit)
		}
	}
	return rest, nil
}

// message is what a commit says.
type message struct {
	commit, title, message string
	merge                  bool
}

// maxMessages bounds how many commits are looked through.
const maxMessages = 1000

// messages returns what the commits of a range say, the newest first.
func (t Target) messages(ctx context.Context, between string) (list []message, err error) {
	out, err := git.Run(ctx, t.Project, "log", "--max-count="+strconv.Itoa(maxMessages), "--format=%H%x00%P%x00%s%x00%B%x00%x00", between)
	for one := range strings.SplitSeq(string(out), "\x00\x00\n") {
		if f := strings.SplitN(one, "\x00", 4); len(f) == 4 {
			list = append(list, message{f[0], f[2], f[3], strings.Contains(f[1], " ")})
		}
	}
	return list, err
}

// trailersIn returns the lines of a message that say with which offers a commit landed.
func trailersIn(message string) (list []string) {
	for line := range strings.Lines(message) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "Fika-Offer: ") {
			list = append(list, line)
		}
	}
	return list
}
