// Package hub is fika up and fika down, which start and stop the hub of a home.
//
// Read first: [NewUp], [NewDown].
package hub
