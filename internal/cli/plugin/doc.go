// Package plugin is fika plugin: a file per command.
//
// Read first: [New], list.go, install.go.
package plugin
