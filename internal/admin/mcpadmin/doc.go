// Package mcpadmin lets a person manage the MCP servers of a home: list, check, call,
// install, import and remove them, and agree to what they say about their tools.
//
// It speaks to no server itself: package mcp does, with what package worker makes of the
// settings.
//
// Read first: [Open], [Servers.Check], [Servers.Add]. [Servers] owns the servers that it
// has started; Close ends them.
//
// How it fails: NotFound for a server or tool that does not exist, Invalid for a file
// that cannot be imported; errors of a server are worded by package mcp.
package mcpadmin
