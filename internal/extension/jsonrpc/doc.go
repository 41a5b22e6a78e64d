// Package jsonrpc speaks JSON-RPC 2.0 in lines, with a program at the other end of a pair of
// pipes. Both sides may ask.
//
// It knows no protocol: methods and their parameters are for others to read.
//
// Read first: [Conn], [Lines], [Message]. A line is at most [MaxLine] bytes; the end of the
// input ends a connection.
package jsonrpc
