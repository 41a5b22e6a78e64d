// Package process answers what fika asks about processes, once for everybody:
// which process is it (pid, start time, boot id: a fika.Process), does exactly
// that one still run, is it stopped or a zombie, who started it, and who holds
// a lock file.
//
// Nothing is signalled by pid alone, because pids are used again: [Signal],
// [EndGroup] and [EndTree] do nothing to a process whose start time or boot is
// another one. What a platform cannot tell is said to be unknown, never
// guessed: outside Linux nobody's ancestors, descendants or marks are known.
//
// Read first: [Identify], [StateOf], [Ancestors]. The package holds no state
// and starts no goroutines. Every function may be called from several goroutines at
// once.
package process
