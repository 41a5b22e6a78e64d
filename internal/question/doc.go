// Package question is how a person is asked about a tool call in a console, and
// answers with /approve N: the text, the command, and what others have answered
// meanwhile.
//
// It has no terminal and draws nothing: whoever has one prints the lines that
// [Desk.TakeNews] and [Desk.CarryOut] return. It decides nothing: rules do (package
// guard), and the store takes only the first answer.
//
// Read first: [Desk]. A Desk may be used from several goroutines.
package question
