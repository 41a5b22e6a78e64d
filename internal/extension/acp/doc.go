// Package acp holds the messages of the Agent Client Protocol, version 1: what agents and
// their clients say to each other. Both a door of fika (the agent) and its guests (it is the
// client) use them.
//
// It says nothing: package jsonrpc carries the messages. What a reader does not know is left
// out.
//
// Read first: [Update], [SessionParams], [PermissionAsk].
package acp
