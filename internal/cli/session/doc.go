// Package session is a person in a chat at a terminal, from joining to leaving: what
// happens to the text they type, and what they are told. [Open] enters the person's own
// session, a chat in which text without a name goes to the agent spoken to last;
// [Join] enters any chat. [fika/internal/cli/input] has the line they type at,
// [fika/internal/cli/screen] what they see above it.
//
// Read first: visit.go, one person in one chat, which combines the screen, the line,
// the events of the chat (watcher.go), where the person's text goes (sender.go) and the
// hub behind it all (hubkeeper.go); slash.go, the commands with a slash; session.go,
// what sets a session apart from other chats.
//
// A visit owns the terminal and its goroutines, and has joined them when it returns.
// Errors while the person is there are shown above their line, and the operation is
// tried again; only what prevents them from entering or typing is returned.
package session
