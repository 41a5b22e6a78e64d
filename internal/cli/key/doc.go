// Package key is fika key: a file per command.
//
// Read first: [New], set.go.
package key
