// Package address decides whether a host is this machine. Its callers use it to decide
// whether a secret may be sent there unencrypted.
//
// Read first: [IsLoopback].
package address
