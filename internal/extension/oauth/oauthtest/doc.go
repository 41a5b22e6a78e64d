// Package oauthtest is a strict authorization server before an MCP server, for tests: it
// checks every parameter of a login, renews each refresh token once, and ends the login
// when an old one comes back.
//
// Read first: [Server], [Main]. It knows nothing of fika.
package oauthtest
