// Package question asks a person about a tool call in a console and takes the answer,
// /approve N: the text, the command, and the answers that others have given meanwhile.
//
// It has no terminal and draws nothing: its caller prints the lines that
// [Desk.TakeNews] and [Desk.CarryOut] return. It decides nothing: rules do (package
// guard), and the store takes only the first answer.
//
// Read first: [Desk], which is safe for concurrent use.
package question
