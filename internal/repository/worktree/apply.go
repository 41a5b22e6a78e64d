package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fika"
	"fika/internal/repository/git"
)

// Applied is what became of a person's checkout.
type Applied struct {
	Into    string // the working tree; "": the branch is checked out nowhere, and follows by itself
	From    string // the commit before
	Commit  string // the commit now
	Nothing bool   // it had all that has landed
	ByHand  string // the command with which the person's own git does it, because a program of theirs takes part; nothing was changed
	Why     string // of ByHand
}

// maxNamed is the most paths that an error names.
const maxNamed = 10

// Apply fast-forwards the working tree that has the branch checked out to what has landed.
// What the person has changed there stays; a path that has landed and that they have
// changed, or that is there and git does not know, is named, and nothing is changed
// (Conflict). It fails with NotFound if nothing has landed, and with Conflict if the branch
// has gone another way.
func (t Target) Apply(ctx context.Context) (a Applied, err error) {
	landed, err := t.Landed(ctx)
	if err != nil {
		return a, err
	}
	if landed == "" {
		return a, fika.Errorf(fika.NotFound, "land", "nothing has landed on %s yet", t.Into)
	}
	if a.Into, err = t.CheckedOut(ctx); err != nil {
		return a, err
	}
	if a.Into == "" {
		moved, err := t.Follow(ctx)
		a.Commit, a.Nothing = landed, !moved
		return a, err
	}
	if a.From, err = head(ctx, a.Into); err != nil {
		return a, err
	}
	a.Commit = a.From
	if a.Nothing, err = t.contains(ctx, a.From, landed); err != nil || a.Nothing {
		return a, err
	}
	ahead, err := t.contains(ctx, landed, a.From)
	if err != nil {
		return a, err
	}
	if !ahead {
		if rest, err := t.missing(ctx, a.From, landed); err != nil || len(rest) == 0 {
			a.Nothing = err == nil
			return a, err
		}
		return a, fika.Errorf(fika.Conflict, "land", "%s has commits that %s has not: what has landed is put on top of them with the next offer, or git merge %s", t.Into, t.Short(), t.Short())
	}
	changes, err := changed(ctx, a.Into, a.From, landed)
	if err != nil {
		return a, err
	}
	in, err := inTheWay(ctx, a.Into, changes)
	if err != nil {
		return a, err
	}
	if len(in) > 0 {
		more := ""
		if len(in) > maxNamed {
			in, more = in[:maxNamed], fmt.Sprintf(" and %d more", len(in)-maxNamed)
		}
		return a, fika.Errorf(fika.Conflict, "land", "what has landed changes what you have changed or added in %s: %s%s; commit, stash or move it first", a.Into, strings.Join(in, ", "), more)
	}
	if a.Why, err = ownPrograms(ctx, a.Into, changes); err != nil {
		return a, err
	} else if a.Why != "" {
		a.ByHand = "git merge --ff-only " + t.Short()
		return a, nil
	}
	if _, err := git.Run(ctx, a.Into, "merge", "-q", "--ff-only", "--no-overwrite-ignore", landed); err != nil {
		return a, &fika.Error{Kind: fika.Conflict, Op: "land", Msg: "nothing was changed in " + a.Into, Err: err}
	}
	a.Commit = landed
	return a, nil
}

// inTheWay returns the paths of changes that the person has changed, or that are in the
// working tree although git does not know them.
func inTheWay(ctx context.Context, dir string, changes []change) ([]string, error) {
	out, err := git.Run(ctx, dir, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=no")
	if err != nil {
		return nil, err
	}
	var dirty []string
	for _, one := range strings.Split(string(out), "\x00") {
		if len(one) > 3 {
			dirty = append(dirty, one[3:])
		}
	}
	var in []string
	for _, c := range changes {
		added := strings.Trim(c.was, "0") == ""
		switch {
		case slices.ContainsFunc(dirty, func(d string) bool { return d == c.path || below(d, c.path) || below(c.path, d) }):
			in = append(in, c.path)
		case added && stands(dir, c.path):
			in = append(in, c.path)
		}
	}
	return in, nil
}

func below(path, folder string) bool { return strings.HasPrefix(path, folder+"/") }

// stands reports whether something other than a folder is where a new file would go, or
// where one of its folders would.
func stands(dir, path string) bool {
	for at := path; at != "."; at = filepath.Dir(at) {
		info, err := os.Lstat(filepath.Join(dir, at))
		if err == nil {
			return at == path || !info.IsDir()
		}
	}
	return false
}

// Unapplied returns what has landed, the working tree that has the branch checked out, and
// how many commits have landed that this one has not; as zero what there is not.
func (t Target) Unapplied(ctx context.Context) (landed, into string, commits int, err error) {
	if landed, err = t.Landed(ctx); err != nil || landed == "" {
		return landed, "", 0, err
	}
	if into, err = t.CheckedOut(ctx); err != nil || into == "" {
		return landed, into, 0, err
	}
	has, err := head(ctx, into)
	if err != nil {
		return landed, into, 0, err
	}
	n, err := git.RunLine(ctx, t.Project, "rev-list", "--count", has+".."+landed)
	if err != nil {
		return landed, into, 0, err
	}
	if commits, err = strconv.Atoi(n); err != nil || commits == 0 {
		return landed, into, 0, err
	}
	if ahead, err := t.contains(ctx, landed, has); err != nil || ahead {
		return landed, into, commits, err
	}
	rest, err := t.missing(ctx, has, landed)
	return landed, into, len(rest), err
}
