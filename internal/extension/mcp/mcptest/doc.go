// Package mcptest is an MCP server as a program, for tests: one that behaves well, and
// others that do what no server should do.
//
// Read first: [Serve]. It knows nothing of fika.
package mcptest
