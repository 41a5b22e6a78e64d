// Package input is the line that a person in a chat types at: it completes commands,
// names and files, turns files named with @ into chips and reads them, and asks questions
// in place of the prompt. [fika/internal/terminal/console] decides how keys edit a line, and the
// caller what happens to the line.
//
// Read first: [Open], [Reader.ReadLine], [Line]; files.go, which finds the files whose
// names are typed.
//
// A Reader opens the console and does not close it. It reports a line whose files cannot
// be sent, and skips it; only the end of the input and errors of the console are returned.
package input
