// Package agent is fika agent: a file per command.
//
// Read first: [New], list.go, attach.go.
package agent
