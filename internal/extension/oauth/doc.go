// Package oauth logs a person in to an MCP server that wants to know who calls, in their
// browser, and renews what that left: discovery (RFC 9728, RFC 8414), registration
// (RFC 7591), authorization code with PKCE (RFC 7636) and a resource (RFC 8707), as
// https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization says.
//
// It keeps nothing: package keyfile does. It decides neither who may log in nor when a
// token is renewed. The flow itself is the MCP library's.
//
// Read first: [LogIn], [Renew], [Prompt].
//
// How it fails: a server that refuses for good is kind Denied, one that cannot be reached
// or does not answer as it should Failed. No error holds a token.
package oauth
