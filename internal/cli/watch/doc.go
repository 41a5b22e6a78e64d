// Package watch is how the work of agents is shown while it happens, by the commands
// that follow it: an answer as it comes, rendered block by block, and all that one
// agent does.
//
// What it looks like is decided in [fika/internal/view], and what was said and is over
// is [fika/internal/cli/page]'s. The package asks for nothing on the bus: statuses come
// in, and what was committed before them is read from the client.
//
// Read first: [Render], [Rendered], [Agent].
//
// A Rendered has the terminal from [Render] until Finish, which everybody who has one
// calls; it may be used from many goroutines. Only what keeps the past from being read
// or the output from being written is returned.
package watch
