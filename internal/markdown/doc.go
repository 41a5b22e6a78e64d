// Package markdown shows Markdown on a terminal: headings, lists, tables,
// quotes, code, links, wrapped to a width by what the characters take there. It
// is for text that others wrote: escape sequences, bidirectional controls and
// what character references stand for are cleaned before anything is shown, and
// what a text may cost is bounded.
//
// It prints nothing. What is to be drawn where is for packages console and view.
//
// Read first: [Stream], which takes a text in pieces and gives each block once,
// when it is finished, and what is not finished yet as rows to be drawn again ([Tail]);
// [Render], the same for a whole text; [Options].
//
// Blocks follow CommonMark with tables and ~~strikethrough~~. What differs is
// meant for chats: a line break stays one, an address is always to be seen (a
// link shows it behind its text), and [name]: address stays text, because a
// definition further down would change what was printed already.
//
// Code stands between two fences, as it was written and unwrapped, so that what
// is copied from the screen is the code. Without styles the marks of headings,
// emphasis and code stay, since nothing else would show them.
//
// Where blocks begin and end is decided line by line, so that the same text
// gives the same output however it is cut into pieces. Bounds: a line of more
// than 8 KiB goes on as another line; a block of more than 16 KiB is shown in
// parts, a table with its header in each; what nests deeper than 32 quotes or
// lists in a line, and a paragraph with more than 4096 brackets, is text.
//
// A Stream is for one goroutine. Nothing fails: text that is no Markdown is text.
package markdown
