// Package process answers questions about processes in one place: which process is it
// (pid, start time, boot id: a fika.Process), does exactly that process still run, is it
// stopped or a zombie, who started it, and who holds a lock file.
//
// Nothing is signalled by pid alone, because pids are reused: [Signal], [EndGroup] and
// [EndTree] do nothing to a process with another start time or boot. What a platform
// cannot tell is reported as unknown, never guessed: outside Linux, ancestors,
// descendants and marks are not known.
//
// Read first: [Identify], [StateOf], [Ancestors]. The package holds no state of its own
// except in [Children], and starts no goroutines. Every function is safe for concurrent
// use.
package process
