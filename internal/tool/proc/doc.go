// Package proc runs processes that cannot escape: each runs in its own process group,
// dies with the thread that started it (Linux), has its output captured in constant
// memory, and is ended as a whole (TERM, then KILL, then every process that carries its
// FIKA_STEP mark) when its context ends.
//
// It is not a job system: [Run] is synchronous and ends with its process. Processes that
// a command leaves running are killed when the command ends: its group at once, and
// those that have left the group (setsid, a double fork, a cleared environment) because
// a process that runs tools adopts the orphans below it ([process.Children]). After a
// crash they are found by their mark.
//
// Read first: [Cmd], [Run]. A [Run] owns at most three goroutines: one copies the
// output, one copies Stdin, and one watches the context. All are joined before it
// returns, except one that copies from a Stdin blocked in Read. Package process
// identifies processes and ends them from elsewhere.
package proc
