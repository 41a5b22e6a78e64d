// Package executor is the process that runs tools in place of agents.
//
// It finds its work in the store: calls that turns have offered to it. A message on the
// bus only makes it look earlier, so a message cannot make it run anything. Each call is
// claimed under the lease of this process, judged anew by what the store and the files
// say ([Runner]), run, and its result stored under the same lease; the turn that waits
// for the result commits it under its own lease.
//
// Calls that a killed executor left running are ended by the next one. Their result is
// that they may or may not have run, unless it is known that they had no effect: then they
// are made again.
//
// Read first: [Process]. One goroutine owns the state; each call has one of its own,
// joined before [Process.Run] returns.
package executor
