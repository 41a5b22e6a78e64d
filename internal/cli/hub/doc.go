// Package hub is fika up and fika down: the hub of a home begins and ends.
//
// Read first: [NewUp], [NewDown].
package hub
