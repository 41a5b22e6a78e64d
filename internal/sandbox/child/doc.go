// Package child is what a fika process does that was started to become a
// confined tool: it takes rights away from itself and executes the command.
//
// It has the only init function of the program. Everything that fika links
// would otherwise be initialised before main could look at its arguments, which
// takes several times as long as the confinement itself; a package with few
// imports whose path sorts early is initialised first, and does not return.
//
// Read first: [Spec], [Command]. It depends on the standard library and
// golang.org/x/sys alone, on purpose.
//
// How it fails: with a line on stderr and the status 126, before the command
// has run.
package child
