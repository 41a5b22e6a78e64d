// Package address says of a host whether it is this machine, for everybody who
// decides whether a secret may go there unencrypted.
//
// Read first: [IsLoopback].
package address
