// Package store is fika store, fika backup and fika restore: a file per command.
//
// Read first: [New], show.go.
package store
