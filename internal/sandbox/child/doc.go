// Package child makes the programs that become confined tools: a list of system
// calls, the last of which executes the command.
//
// A process that takes rights away from itself has to be one of its own, and the
// runtime of Go takes longer to start than all that is to be done there. So
// what is started is no Go program: a [Program] is written into a file in memory
// as an executable of a page or two, which holds the calls with their arguments
// and the few instructions, in launch_*.s, that make one after the other.
// Everything that needs thought, such as paths, filters and rules, is settled by
// whoever makes the list.
//
// It knows nothing of sandboxes: which calls are made, and in which order, is
// package sandbox's to say. An image holds no secret; who starts one that another
// has made gets no right by it.
//
// Read first: [Program], [Program.Image], [Open].
//
// How it fails: a call that has to succeed and does not ends the process with a
// line on stderr that names the step and the number of the error, and the status
// of that step, before the command has run.
package child
