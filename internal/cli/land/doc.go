// Package land is fika land: a file per command.
//
// Read first: [New], list.go, apply.go.
package land
