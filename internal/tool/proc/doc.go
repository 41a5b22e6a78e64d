// Package proc runs processes that cannot get away: each in its own process
// group, dying with the thread that started it (Linux), its output captured in
// constant memory, and ended as a whole (TERM, then KILL, then every process
// that carries its FIKA_STEP mark) when its context ends.
//
// It is not a job system: [Run] is synchronous and ends with its process. What
// a command leaves running in its group is killed when the command ends; what
// has deliberately left the group (setsid) is found by its mark, on
// cancellation and in recovery, not after every call.
//
// Read first: [Cmd], [Run]. A [Run] owns two goroutines at most,
// one that copies the output and one that copies Stdin, and a watcher of the
// context; all but a Stdin that does not return from Read are joined before it
// returns. Which process is which, and how one is ended from elsewhere, is
// package process's to say.
package proc
