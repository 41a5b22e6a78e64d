// Package monitor is fika bus monitor: it shows the messages on the bus as they come, or
// writes them to a file that is rotated when it is full.
//
// Read first: [New], log.go.
package monitor
