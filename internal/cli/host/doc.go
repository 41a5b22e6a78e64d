// Package host is fika host: the hosts that share the database, a file per command.
//
// Read first: [New], list.go.
package host
