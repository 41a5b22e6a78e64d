// Package skill is fika skill: a file per command.
//
// Read first: [New], list.go, check.go.
package skill
