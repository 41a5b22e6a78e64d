// Package child is what a fika process does that was started to become a
// confined tool: it takes rights away from itself and executes the command.
//
// It has the only init function of the program. Everything that fika links
// would otherwise be initialised before main could look at its arguments, which
// takes several times as long as the confinement itself; a package that needs
// next to nothing and whose path sorts early is initialised first, and does not return.
// That is also why what can be prepared is prepared by whoever starts it: the
// rules of Landlock come as an open ruleset.
//
// Read first: [Spec]. It depends on runtime, syscall and unsafe alone, on
// purpose: one import more can have a hundred packages initialised before it.
//
// How it fails: with a line on stderr and the status 126, before the command
// has run.
package child
