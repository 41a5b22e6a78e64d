// Package board is fika board: a file per command.
//
// Read first: [New], list.go, kanban.go.
package board
