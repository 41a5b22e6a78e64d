// Package mcptest is an MCP server as a program, for tests: one that behaves, and
// others that do what no server should.
//
// Read first: [Serve]. It knows nothing of fika.
package mcptest
