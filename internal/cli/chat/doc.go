// Package chat is fika chat: a file per command. Asking and telling is
// [fika/internal/client]'s, how entries are shown [fika/internal/cli/page]'s, and what
// a person sees and types who has joined a chat [fika/internal/cli/session]'s.
//
// Read first: [New]; send.go, the shortest way through; view.go, which shows entries
// and goes on showing them. A command owns nothing that outlives it. Its error goes
// up, and [fika/internal/cli/command] makes words and a status of it.
package chat
