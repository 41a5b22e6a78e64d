// Package undo is fika undo: it undoes the changes of a request to files, or makes them
// again.
//
// Read first: [New].
package undo
