// Package input is the line that a person in a chat types at: it completes commands,
// names and files, makes chips of the files that are named with @, reads those, and asks
// a question in place of the prompt. How keys edit a line is [fika/internal/console]'s,
// and what becomes of a line its reader's.
//
// Read first: [Open], [Reader.ReadLine], [Line]; files.go, how files are found whose names
// are typed.
//
// A Reader opens the console and does not close it. A line whose files cannot be sent is
// told of and passed over; only the end of the input is returned.
package input
