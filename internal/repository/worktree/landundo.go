package worktree

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"fika"
	"fika/internal/repository/git"
)

const undoPrefix = "undo-"

// UndoOf returns how people call what takes offer n back.
func UndoOf(n fika.OfferNumber) string { return undoPrefix + strconv.FormatInt(int64(n), 10) }

// ParseUndo returns the offer that a name made by [UndoOf] takes back; 0: it is none.
func ParseUndo(name string) fika.OfferNumber {
	digits, is := strings.CutPrefix(name, undoPrefix)
	n, err := strconv.ParseInt(digits, 10, 64)
	if !is || err != nil || n < 1 {
		return 0
	}
	return fika.OfferNumber(n)
}

// Undo makes a commit on what the branch is now that takes back what a landed offer has
// brought, and touches neither file nor ref. It fails with Conflict if the branch has nothing
// of it any more, or if what it changed was changed since, and with Invalid if git does not
// know the person.
func (t Target) Undo(ctx context.Context, o fika.Offer) (string, error) {
	const op = "undo"
	if _, _, err := t.Identity(ctx); err != nil {
		return "", err
	}
	g, err := t.Ground(ctx)
	if err != nil {
		return "", err
	}
	list, err := t.broughtBy(ctx, g.Commit, o)
	if err != nil {
		return "", err
	}
	was, err := t.treeOf(ctx, g.Commit)
	if err != nil {
		return "", err
	}
	tree := was
	for _, commit := range list {
		next, conflicts, err := t.takeBack(ctx, tree, commit)
		if err != nil {
			return "", err
		}
		if len(conflicts) > 0 {
			return "", fika.Errorf(fika.Conflict, op, "what offer %d changed was changed since, in %s: take it back by hand, on a branch, and offer that", o.Number, strings.Join(conflicts, ", "))
		}
		tree = next
	}
	if tree == was {
		return "", fika.Errorf(fika.Conflict, op, "%s has nothing of offer %d any more", t.Into, o.Number)
	}
	message := "Undo offer " + strconv.FormatInt(int64(o.Number), 10) + ": " + o.Title + "\n\nThis takes back " + strings.Join(list, "\n") + "."
	return t.commit(ctx, tree, []string{g.Commit}, message, nil)
}

// broughtBy returns the commits that an offer has brought to the branch as it is at a commit,
// the newest first: those that name it or, where a person's branch has landed as it was, that
// branch.
func (t Target) broughtBy(ctx context.Context, at string, o fika.Offer) ([]string, error) {
	behind := []string{}
	if o.Old != "" {
		behind = append(behind, "^"+o.Old)
	}
	number := strconv.FormatInt(int64(o.Number), 10)
	out, err := git.Run(ctx, t.Project, append([]string{"rev-list", "--max-count=" + strconv.Itoa(maxLanded), "--topo-order", "-E", "--grep=^Fika-Offer: " + number + "$", at}, behind...)...)
	if err != nil {
		return nil, err
	}
	if list := lines(out); len(list) > 0 {
		return list, nil
	}
	there, err := t.contains(ctx, at, o.Tip)
	if err != nil {
		return nil, err
	}
	if !there || o.Base == "" {
		return nil, fika.Errorf(fika.Conflict, "undo", "%s has nothing of offer %d any more", t.Into, o.Number)
	}
	out, err = git.Run(ctx, t.Project, append([]string{"rev-list", "--max-count=" + strconv.Itoa(maxLanded), "--first-parent", o.Tip, "^" + o.Base}, behind...)...)
	return lines(out), err
}

// takeBack returns what files are without the changes of a commit against its first parent.
// git merges with the commit as the base if both sides come after it.
func (t Target) takeBack(ctx context.Context, tree, commit string) (next string, conflicts []string, err error) {
	before, err := t.treeOf(ctx, commit+"^1")
	if err != nil {
		return "", nil, fika.Errorf(fika.Invalid, "undo", "%.12s is the first commit: there is nothing before it", commit)
	}
	sides := []string{tree, before}
	for i, side := range sides {
		if sides[i], err = t.ours(ctx, side, []string{commit}); err != nil {
			return "", nil, err
		}
	}
	next, conflicts, _, err = tryMerge(ctx, t.Project, sides[0], sides[1])
	slices.Sort(conflicts)
	return next, conflicts, err
}
