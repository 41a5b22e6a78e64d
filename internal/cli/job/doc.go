// Package job is fika job: a file per command.
//
// Read first: [New], list.go.
package job
