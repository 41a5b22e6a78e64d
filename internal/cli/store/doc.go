// Package store is fika store: a file per command.
//
// Read first: [New], show.go.
package store
