// Package flow brings runs of workflows forward: it reads what has happened in
// one, lets [workflow.NextPlan] work out what has to happen now, and has that stored.
//
// It keeps nothing that a run needs: whoever ends a step advances its run, and
// whoever does it next finds all in the store. Any number may advance one run at
// once, in one process or several: one of them is first, the others look again.
//
// Read first: [Advancer].
package flow
