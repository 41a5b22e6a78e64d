// Package landing works the queue of offers: it puts one offer after the other on the
// branch that it is for, has it checked, and moves the branch.
//
// An offer is a row. What is about to be done to the repository is committed first, and
// what was done is found out from the repository after a crash, so the branch always has a
// value that was checked, and nothing lands twice. It keeps nothing in memory that a queue
// needs.
//
// It knows how offers go on, not how git puts commits on each other ([worktree.Target]) nor
// how a check is run and confined ([Options.Check]).
//
// Read first: [Queue.Step].
package landing
