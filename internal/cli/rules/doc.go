// Package rules is fika rules: a file per command.
//
// Read first: [New], test.go.
package rules
