// Package workflow is fika workflow: a file per command.
//
// Read first: [New], list.go, check.go.
package workflow
