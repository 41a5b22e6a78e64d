// Package context is fika context: a file per command.
//
// Read first: [New], list.go, log.go.
package context
