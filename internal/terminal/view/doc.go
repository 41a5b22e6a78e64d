// Package view is what a person sees of agents at work: answers as rendered Markdown,
// block by block, a line for each tool call, edits as a few lines of difference, and
// one status line that says who is busy with what since when.
//
// It knows no agents, stores or buses: events come in as values, and output goes to a
// [Screen]. It reads no keys.
//
// Read first: [Feed], which takes the text of several concurrent speakers and passes
// each block to the screen once; [Call], a tool call as a person reads it; [Standing],
// the status line.
//
// Only one of several speakers streams: the one that wrote first. The text of the
// others is collected and printed whole when it is complete, at the next end of a
// block. Printed lines are never drawn again; unfinished text is rows at the bottom,
// drawn at most 30 times a second.
//
// A Feed is safe for concurrent use: it draws and calls the screen under its own lock.
// Its one timer draws what was delayed, and the passing seconds. Nothing fails here:
// the owner of a screen has to notice if it cannot be written to.
package view
