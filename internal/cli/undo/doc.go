// Package undo is fika undo: what a request changed in files is taken back, or made
// again.
//
// Read first: [New].
package undo
