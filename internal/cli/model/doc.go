// Package model is fika model: a file per command.
//
// Read first: [New], list.go.
package model
