// Package view is what a person sees of agents at work: answers as rendered
// Markdown, block by block, a line for each tool call, edits as a few lines of
// difference, and one status line that says who is busy with what since when.
//
// It knows no agents, stores or buses: what happens comes in as values, and what
// is to be seen goes to a [Screen]. It reads no keys.
//
// Read first: [Feed], which takes what several speakers say at once and gives
// each block to the screen once; [Call], a tool call as a person reads it;
// [Standing], the status line.
//
// Of several speakers one streams: whoever wrote first. The others collect, and
// what they say is printed whole when it is complete, at the next end of a
// block. What is printed is never drawn again; what is unfinished is rows at the
// bottom, drawn at most 30 times a second.
//
// A Feed may be used from many goroutines; it draws under its own lock and calls
// the screen then. One timer of its own draws what waited, and the seconds that
// pass. Nothing fails here: a screen that cannot be written to is for whoever
// owns it to notice.
package view
