// Command escape tries to get out of the sandbox with the real program, and
// writes what came of it into a table.
//
// Each attempt is made by bash, by python3, by a plugin and by an MCP server of an
// agent whose model does what it is told, in each tier, as root and as an ordinary user,
// and with the sandbox switched off, where it has to succeed: an attempt that
// never succeeds proves nothing, unless the table says why it cannot here.
//
// Read first: attempts (attempt.go), then main. It ends with status 1 when an
// attempt succeeds that the tier does not admit to.
package main
