// Package address decides what hosts and addresses are: this machine ([IsLoopback]),
// where a secret may be sent unencrypted; public ([IsPublic]), where tools may go; named
// by a person ([Host]). A [Dialer] connects only to addresses that were checked.
//
// Read first: [IsLoopback], [IsPublic], [Host].
package address
