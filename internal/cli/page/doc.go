// Package page shows the contents of chats as text, for people and for programs: entries,
// and what waits. It reads no flags and follows no chat.
//
// Read first: [Page], which makes text of entries for people; [Printer], which writes
// them in the form that was asked for; replay.go, in which a [Script] shows past entries
// as they looked when they happened. text.go has the phrases that several commands use.
//
// A Page, a Printer and a Script belong to the goroutine that shows entries. They keep
// tool calls until their results come. A Printer returns the errors of the output and
// of the store; making text does not fail.
package page
