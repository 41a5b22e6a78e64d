// Package chatfile keeps the messages of chats as plain text: chats/NAME.md in the
// home, with a heading and the text of each message, so that grep, less and an editor
// can find them.
//
// The files are written from the store alone and never read back. A file that ends
// where the Keeper left it is appended to. A file torn by a crash is repaired. A file
// that somebody has changed is set aside under another name and written anew. A file
// is also written anew when messages of its chat have expired, and removed when its
// chat is deleted. A file with messages that the database has lost is set aside.
//
// Read first: [Keeper] and [Keeper.Sync]. The hub owns the one Keeper of a home, in
// one goroutine. A failure such as a full disk is an error of Sync; the next call
// continues where that one stopped.
package chatfile
