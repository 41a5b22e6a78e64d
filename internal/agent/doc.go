// Package agent is the process that works for one agent: it claims the agent's work
// from the store, runs turns, and reports on the bus what it does.
//
// Read first: [Process.Run], [Options], [Display]. One goroutine owns all state and
// reads one mailbox. Each running turn has its own goroutine, which reports back
// through the mailbox; another goroutine announces outcomes. Nothing depends on a
// message: a wake-up only makes the next look at the store come sooner than the poll.
//
// The caller must hold the folder's lock and the lease before Run, and release them
// after it. If the lease is lost, the caller calls [Process.Lost].
package agent
