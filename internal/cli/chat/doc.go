// Package chat is fika chat: a file per command, how entries are shown, and what a
// person sees and types who has joined a chat. Asking and telling is
// [fika/internal/client]'s.
//
// Read first: [New]; page.go, in which [Printer] writes entries in each form; visit.go,
// a person in a chat, which is made of the screen above their line (screen.go), the
// line (input.go), what happens in the chat (watcher.go), where their text goes
// (sender.go) and the hub behind it all (hubkeeper.go). session.go is what a session
// adds.
package chat
