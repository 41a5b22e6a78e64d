// Package chat is fika chat: one file per command. [fika/internal/service] asks and tells,
// [fika/internal/cli/page] shows entries, and [fika/internal/cli/session] handles what a
// person who has joined a chat sees and types.
//
// Read first: [New]; send.go, the simplest command from start to end; view.go, which
// shows entries and can follow new ones. A command owns nothing that outlives it. It
// returns its error, which [fika/internal/cli/command] makes a message and a status.
package chat
