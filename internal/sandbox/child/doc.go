// Package child makes the programs that become confined tools: a list of system calls,
// the last of which executes the command.
//
// A process that gives up rights has to be one of its own, and the Go runtime takes
// longer to start than everything that is to be done there. So what is started is not a
// Go program: a [Program] is written into a file in memory as an executable of a page or
// two. It holds the calls with their arguments and the few instructions, in launch_*.s,
// that make one call after the other. Everything that needs thought, such as paths,
// filters and rules, is settled when the list is made.
//
// It knows nothing of sandboxes: which calls are made, and in which order, is up to
// package sandbox. An image holds no secret, and starting an image that another user has
// made gains no rights.
//
// Read first: [Program], [Program.Image], [Program.Open].
//
// How it fails: if a call that must succeed fails, the process ends before the command
// has run, with the status of that step and a line on stderr that names the step and the
// error number.
package child
