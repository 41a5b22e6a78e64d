// Package markdown shows Markdown on a terminal: headings, lists, tables, quotes, code,
// links, wrapped to a width by the columns that characters take there. It is for text
// that others wrote: escape sequences, bidirectional controls and decoded character
// references are cleaned before anything is shown, and the cost of a text is bounded.
//
// It prints nothing. What is drawn where is up to packages console and view.
//
// Read first: [Stream], which takes a text in pieces and returns each block once, when it
// is finished, and the unfinished rest as rows that are drawn again and again ([Tail]);
// [Render], the same for a whole text; [Options].
//
// Blocks follow CommonMark with tables and ~~strikethrough~~. The differences are meant
// for chats: a line break stays a line break, an address is always visible (a link shows
// it after its text), and [name]: address stays text, because a definition further down
// would change what has already been printed.
//
// Code is shown as it was written. Without styles the marks of headings, emphasis and code
// stay, the fences among them, because nothing else would show them.
//
// Where blocks begin and end is decided line by line, so that the same text gives the
// same output however it is split into pieces. Bounds: a line of more than 4 KiB is
// continued as another line; a block of more than 16 KiB is shown in parts, a table with
// its header in each; a line that nests more than 32 quotes or lists, and a paragraph
// with more than 4096 brackets, are plain text.
//
// A Stream is not safe for concurrent use. Nothing fails: text that is not Markdown is
// shown as text.
package markdown
