package landing

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fika"
	"fika/internal/repository/worktree"
	"fika/internal/store"
)

// reviewersOf returns the agents that have to look at an offer before it is tried; none if
// a person offered it, or if they have looked at its commit already.
func reviewersOf(o fika.Offer, set Settings) []fika.AgentName {
	if o.Request == "" || o.State != fika.OfferWaiting || slices.ContainsFunc(o.Reviews, func(r fika.OfferReview) bool { return r.Tip == o.Tip }) {
		return nil
	}
	list := slices.Clone(set.Reviewers)
	if o.Reviewer != "" && !slices.Contains(list, o.Reviewer) {
		list = append(list, o.Reviewer)
	}
	return slices.DeleteFunc(list, func(name fika.AgentName) bool { return name == o.Agent })
}

// review has agents look at an offer.
func (q *Queue) review(ctx context.Context, r Repository, o fika.Offer, g worktree.Ground, by []fika.AgentName) error {
	diff, err := r.Diff(ctx, g.Commit, o.Tip)
	if err != nil {
		return q.end(ctx, o, fika.OfferRefused, fika.ReasonOf(err), "")
	}
	_, err = q.o.Store.AskReviews(ctx, o, by, reviewText(o, g.Commit, diff))
	if fika.IsKind(err, fika.NotFound) {
		return q.end(ctx, o, fika.OfferHeld, fika.ReasonOf(err), "")
	}
	return err
}

// maxDiff bounds how much of the changes a reviewer is shown, in bytes.
const maxDiff = 24 << 10

// reviewText is what a reviewer is asked. What the agent says and has changed is indented, so
// that it cannot pass for what is said around it.
func reviewText(o fika.Offer, on, diff string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "@%s offers work for %s: review it before it lands (offer %d", o.Agent, o.Into, o.Number)
	if o.Task > 0 {
		fmt.Fprintf(&b, ", task %d of the board", o.Task)
	}
	fmt.Fprintf(&b, "). Its first line:\n\n    %s\n\nIts commits are %.12s..%.12s in the project's repository. They change:\n\n", o.Title, on, o.Tip)
	cut := ""
	if len(diff) > maxDiff {
		diff, cut = strings.ToValidUTF8(diff[:maxDiff], ""), fmt.Sprintf("The changes are longer than this: git diff %.12s...%.12s shows all.\n", on, o.Tip)
	}
	b.WriteString("    " + strings.ReplaceAll(strings.TrimRight(diff, "\n"), "\n", "\n    ") + "\n\n" + cut)
	b.WriteString("Answer with ok = true if it is good as it is. Else answer with ok = false, and say in notes what is wrong, where, and how it shows: its agent reads them, and offers again.\n")
	return b.String()
}

// reviewed lets an offer go on that all its reviewers call good. It comes back to its agent
// if one does not, and waits for a person if a review has failed.
func (q *Queue) reviewed(ctx context.Context, r store.Reviewed) error {
	var against, notes []string
	for _, one := range r.Said {
		switch {
		case one.Ended != fika.Done:
			return q.end(ctx, r.Offer, fika.OfferHeld, fmt.Sprintf("@%s has not reviewed it: %s", one.Agent, one.Notes), "")
		case !one.OK:
			against = append(against, "@"+string(one.Agent))
			notes = append(notes, fmt.Sprintf("@%s says:\n%s", one.Agent, one.Notes))
		}
	}
	if len(against) == 0 {
		_, err := q.change(ctx, r.Offer, func(o *fika.Offer) { o.State, o.Reason = fika.OfferWaiting, "" })
		return err
	}
	set, err := q.o.Settings()
	if err != nil {
		return err
	}
	return q.back(ctx, r.Offer, set, strings.Join(against, ", ")+" wants changes", strings.Join(notes, "\n\n"), "")
}
