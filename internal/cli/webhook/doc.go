// Package webhook is fika web webhook: how the receivers of events stand, a file per command.
//
// Read first: [New], list.go.
package webhook
