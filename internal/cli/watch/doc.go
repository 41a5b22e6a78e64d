// Package watch shows the work of agents while it happens, for the commands that follow
// it: an answer as it comes, rendered block by block, and everything that one agent
// does.
//
// [fika/internal/terminal/view] decides what it looks like, and [fika/internal/cli/page] shows
// past entries. The package subscribes to nothing on the bus: it is given statuses, and
// reads what was committed before them from the client.
//
// Read first: [Render], [Rendered], [Agent].
//
// A Rendered has the terminal from [Render] until Finish, which the caller of Render must
// call; it is safe for concurrent use. Only errors of reading what was committed or of
// writing the output are returned.
package watch
