// Package config is fika config: a file per command.
//
// Read first: [New], check.go.
package config
