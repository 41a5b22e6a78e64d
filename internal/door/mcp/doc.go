// Package mcp is the door for other agent programs: an MCP server on stdin and stdout,
// or over HTTP, whose tools give the agents of a home work. The protocol is the library's.
//
// It keeps nothing: work is a request of the service, named by its id, and a program that
// leaves, or comes back, changes nothing about it. The same call repeated while its
// request goes on is the same request.
//
// Read first: [Serve], [Handler], server.ask, server.await.
package mcp
