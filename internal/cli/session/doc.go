// Package session is a person in a chat at a terminal, from joining to leaving: what
// becomes of what they type, and what they are told. [Open] enters the person's own
// session, a chat in which text without a name goes to the agent spoken to last;
// [Join] enters any chat. The line they type at is [fika/internal/cli/input]'s, what
// they see above it [fika/internal/cli/screen]'s.
//
// Read first: visit.go, one person in one chat, which is made of the screen, the line,
// what happens in the chat (watcher.go), where their text goes (sender.go) and the hub
// behind it all (hubkeeper.go); slash.go, what may be typed with a slash; session.go,
// what a session has beside other chats.
//
// A visit owns the terminal and its goroutines, and has joined them when it returns.
// What goes wrong while the person is there is told above their line and tried again;
// only what keeps them from entering or from typing is returned.
package session
