// Package guest runs other agent programs as guests at fika's table: it is a client of the
// Agent Client Protocol, version 1, over a program's stdin and stdout.
//
// It is no policy: what the program may touch, what it is asked and what becomes of what it
// does comes in as values and from [turn.GuestHost]. It serves neither files nor terminals: a
// guest has those of its own sandbox. It finds fika's own tools at a [Table], a Unix socket
// that lives as long as the session. The MCP server that the program starts for them is this
// program again ([Bridge]), and passes bytes on: who calls, for which request and with which
// rights, is decided by the turn, and never by what is said there.
//
// Read first: [Open], [Session.Prompt]. A [Session] owns one process, which Close ends with
// everything it started. A turn asks for one session at a time.
//
// How it fails: Open fails with kind Failed, saying what the program said last; a program
// that ends in the middle of a turn makes Prompt fail with [ErrGone]. Lines that are no
// messages, unknown methods and updates of other sessions are left out.
package guest
