// Package store is fika store, fika store backup and fika store restore: a file per command.
//
// Read first: [New], show.go.
package store
