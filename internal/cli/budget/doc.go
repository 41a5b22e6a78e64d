// Package budget is fika budget: a file per command.
//
// Read first: [New], list.go.
package budget
