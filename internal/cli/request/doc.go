// Package request is fika request: a file per command, and the view of a request that
// another process works on.
//
// Read first: [New], follow.go ([FollowView]).
package request
