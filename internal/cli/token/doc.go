// Package token is fika web token: which programs come in by the doors of the hub, a file per
// command.
//
// Read first: [New], create.go.
package token
