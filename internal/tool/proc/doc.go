// Package proc runs processes that cannot get away: each in its own process
// group, dying with the thread that started it (Linux), its output captured in
// constant memory, and ended as a whole (TERM, then KILL, then every process
// that carries its FIKA_STEP mark) when its context ends.
//
// It is not a job system: [Run] is synchronous and ends with its process. What
// a command leaves running is killed when the command ends: its group at once,
// and what has left the group (setsid, a double fork, a cleared environment)
// because a process that runs tools adopts the orphans below it
// ([process.Children]). After a crash they are found by their mark.
//
// Read first: [Cmd], [Run]. A [Run] owns two goroutines at most,
// one that copies the output and one that copies Stdin, and a watcher of the
// context; all but a Stdin that does not return from Read are joined before it
// returns. Which process is which, and how one is ended from elsewhere, is
// package process's to say.
package proc
