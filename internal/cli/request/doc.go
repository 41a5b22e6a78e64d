// Package request is fika request: a file per command, and how a request that
// another process works on is shown.
//
// Read first: [New], follow.go ([FollowView]).
package request
