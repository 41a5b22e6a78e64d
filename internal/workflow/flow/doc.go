// Package flow advances runs of workflows: it reads what has happened in a run, lets
// [workflow.NextPlan] work out what has to happen now, and has that stored.
//
// It keeps nothing that a run needs: the process that ends a step advances its run,
// and the next process to do so finds everything in the store. Any number may advance
// one run at once, in one process or several: one of them is first, and the others
// look again.
//
// Read first: [Advancer].
package flow
