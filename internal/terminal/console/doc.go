// Package console is a line editor for a person who types while others talk: a prompt at
// the bottom of an ordinary terminal (no alternate screen, scrollback stays as it is),
// and messages from any goroutine printed above it without disturbing what is being
// typed. Without a terminal the same calls read lines and write lines, and nothing else.
//
// It knows nothing of agents or chats, and does not interpret what is typed.
//
// [Display] is the same without a line to type in: text above, rows below.
//
// Read first: [New] with [Options], [Console.ReadLine] and [Console.Print]; question.go,
// in which something is asked that one key answers.
//
// How it draws: the live rows, the line being edited, the status line and the completions
// are one block of rows at the end of the output. Whatever happens, the block is erased,
// new text is written, and the block is drawn again, in one write. The rows of the block
// never wrap (automatic wrapping is off while they are drawn), so their number is known
// whatever the terminal thinks about the width of an emoji; printed text wraps as the
// terminal likes.
//
// While there are live rows, which are drawn many times a second, the terminal's cursor
// is hidden and rests at the beginning of the block; a drawn cursor shows where typing
// goes. Erasing is then clearing from the cursor on, without counting rows, so it is
// right even when the terminal has just been resized and this program does not know yet.
// Without live rows the cursor is where typing goes (an input method needs it there). The
// rows before it are then counted as a terminal that became narrower has rewrapped them;
// on a terminal that truncates rows instead, a few rows above the block may be lost. Rows
// that left the screen stay in the scrollback.
//
// Goroutines, all owned by the Console and joined by Close: one reads the terminal; one
// owns the line being edited and acts on keys, signals and timers; one calls OnInterrupt
// and the Answer of questions.
// Print, Status and SetPrompt draw in the caller's goroutine, under the Console's one
// mutex; they return when the terminal has taken the text, which is the only
// back-pressure there is.
//
// How it fails: if the terminal goes away, ReadLine returns io.EOF. A history file that
// cannot be used is reported once, above the prompt, and then ignored.
package console
