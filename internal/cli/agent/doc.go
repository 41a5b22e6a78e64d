// Package agent is fika agent: one file per command.
//
// Read first: [New], list.go, attach.go.
package agent
