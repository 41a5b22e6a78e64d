// Package monitor is fika monitor: what passes on the bus, as it comes, on the terminal
// and in a file that is begun anew when it is full.
//
// Read first: [New], log.go.
package monitor
