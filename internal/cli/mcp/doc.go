// Package mcp is fika mcp: a file per command.
//
// Read first: [New], check.go, install.go.
package mcp
