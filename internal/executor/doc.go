// Package executor is the process that runs tools in the place of agents.
//
// It finds its work in the store: calls that turns have offered to it. A message on
// the bus only makes it look earlier, so there is nothing that a message could make
// it run. Each call is claimed under the lease of this process, judged anew by what
// the store and the files say ([Runner]), run, and its result stored under the same
// lease; the turn that waits for it commits it under its own.
//
// What an executor that was killed has left is ended by the next one, and its result
// is that it may or may not have run.
//
// Read first: [Process]. One goroutine owns the state; each call has one of its own,
// joined before [Process.Run] returns.
package executor
