// Package chatfile keeps what is said in chats as plain text: chats/NAME.md in
// the home, a heading and the text for each message, so that grep, less and an
// editor find what was said.
//
// The files are written from the store alone and never read back. A file that
// ends where it was left is appended to; one that is torn by a crash is mended,
// one that somebody has changed is set aside under another name and written
// anew, and so is one of whose messages some have expired. The file of a chat
// that is deleted goes with it.
//
// Read first: [Keeper] and [Keeper.Sync]. The hub owns the one Keeper of a home,
// in one goroutine. What fails (a full disk) is an error of Sync; the next call
// goes on where that one stopped.
package chatfile
