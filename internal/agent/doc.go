// Package agent is the process that works for one agent: it claims what the
// store has for it, runs turns, and says on the bus what it does.
//
// Read first: [Process.Run], [Options], [Display]. One goroutine owns all
// state and reads one mailbox; each running turn has a goroutine of its own
// that reports back through it, and outcomes are announced beside both.
// Nothing depends on a message: a wake-up only makes the next look at the store
// come sooner than the poll.
//
// The caller holds the folder's lock and the lease before Run and gives them
// up after it; when the lease is lost, it calls [Process.Lost].
package agent
