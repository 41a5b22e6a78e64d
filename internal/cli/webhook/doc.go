// Package webhook is fika webhook: how the receivers of events stand, a file per command.
//
// Read first: [New], list.go.
package webhook
