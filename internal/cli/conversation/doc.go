// Package conversation is fika conversation: a file per command.
//
// Read first: [New], show.go.
package conversation
