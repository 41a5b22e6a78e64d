// Package job is fika agent job: a file per command.
//
// Read first: [New], list.go.
package job
