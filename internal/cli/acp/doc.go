// Package acp is fika acp: the agents of a folder in an editor.
//
// Read first: [New], homes.open, install.go.
package acp
