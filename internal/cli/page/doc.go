// Package page is how what is said in chats is shown, for people and for programs:
// entries, and what waits, as text. It reads no flags and follows no chat.
//
// Read first: [Page], which makes text of entries for people; [Printer], which writes
// them in the form that was asked for; replay.go, in which a [Script] shows what is
// over as it looked when it happened. text.go has the words that several commands say.
//
// A Page, a Printer and a Script belong to the goroutine that shows entries. They keep
// calls of tools until their results come. A Printer returns the error of the output
// or of the store; making text does not fail.
package page
