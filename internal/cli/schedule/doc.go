// Package schedule is fika schedule: a file per command.
//
// Read first: [New], list.go.
package schedule
