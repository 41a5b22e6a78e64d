// Package bus is fika bus: a file per command.
//
// Read first: [New], list.go.
package bus
