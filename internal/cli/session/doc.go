// Package session is a person in a chat at a terminal, from joining to leaving: what
// they see, what they type, and what becomes of it. [Open] enters the person's own
// session, a chat in which text without a name goes to the agent spoken to last;
// [Join] enters any chat. How entries look is [fika/internal/cli/page]'s, how a line
// is edited [fika/internal/console]'s.
//
// Read first: visit.go, one person in one chat, which is made of the screen above
// their line (screen.go), the line (input.go), what happens in the chat (watcher.go),
// where their text goes (sender.go) and the hub behind it all (hubkeeper.go); slash.go,
// what may be typed with a slash; session.go, what a session has beside other chats.
//
// A visit owns the terminal and its goroutines, and has joined them when it returns.
// What goes wrong while the person is there is told above their line and tried again;
// only what keeps them from entering or from typing is returned.
package session
