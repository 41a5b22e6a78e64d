// Package mcpadmin is how a person looks after the MCP servers of a home: list, check,
// call, install, import and remove them, and agree to what they say of their tools.
//
// It speaks to no server itself: package mcp does, with what package worker makes
// of the settings.
//
// Read first: [Open], [Servers.Check], [Servers.Add]. [Servers] owns the servers
// that it has started; Close ends them.
//
// How it fails: NotFound for a server or tool that is not there, Invalid for a file
// that cannot be imported; what goes wrong with a server is worded by package mcp.
package mcpadmin
