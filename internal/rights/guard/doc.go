// Package guard decides what a tool call may do, and names the rule that decided.
//
// It has two halves. [Decide] applies a person's rules to a call: run it, ask a person
// first, or refuse it. [Paths] knows the folders that no tool may see (the homes of
// fika, people's secrets) and the files that no tool may change because something else
// obeys them (hooks, settings of editors and shells, instructions of agents); no rule
// changes that, except that a yes to a rule that asks can open a protected file for one
// command.
//
// It is pure: it reads no file, follows no link and asks nobody. The caller passes the
// real path of what it has opened, so that no link and no race stands between the answer
// and the file. Names are compared without regard to case, because some file systems do
// so.
//
// Rules are a convenience, made to spare a person questions and to stop what is plainly
// unwanted. What a process can touch in spite of them is limited by the sandbox (package
// sandbox).
//
// Read first: [Rule], [Decide], [Paths]. A shell command is parsed as bash would parse
// it ([SimpleCommands]): every simple command in it is judged, including those in
// substitutions and functions and behind wrappers such as env or xargs. A rule that
// names words never allows a command that cannot be known before it runs.
//
// All functions are safe for concurrent use. Errors of [Paths] are of kind Denied; about
// a protected file they say what to do instead.
package guard
