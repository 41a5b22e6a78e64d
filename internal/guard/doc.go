// Package guard decides what a tool call may do, and says which rule said so.
//
// It has two halves. [Decide] applies a person's rules to a call: run it, wait
// for a word, or refuse it. [Paths] knows the folders that no tool may see (the
// homes of fika, the secrets of people) and the files that no tool may change
// because something else obeys them (hooks, settings of editors and shells,
// instructions of agents); no rule changes that.
//
// It is pure: it reads no file, follows no link, asks nobody. Whoever asks about
// a path brings the real one of what it has opened, so that no link and no race
// stands between the answer and the file. Names are compared without regard to
// case, because some file systems do so.
//
// Rules are convenience, made to spare a person questions and to stop what is
// plainly unwanted. What a process can touch in spite of them is the sandbox's
// to say (package sandbox).
//
// Read first: [Rule], [Decide], [Paths]. A shell command is read as bash would
// read it ([SimpleCommands]): every simple command in it is judged, those in
// substitutions, functions and behind wrappers such as env or xargs too. What
// cannot be known before it runs is never allowed by a rule that names words.
//
// All functions may be called from many goroutines at once. Errors of [Paths]
// are of kind Denied and say what to do instead.
package guard
