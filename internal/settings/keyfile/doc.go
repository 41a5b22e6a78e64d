// Package keyfile stores API keys, and logins to MCP servers, in a file of the home that
// only its owner may read. A key is given out only for the hosts that it is bound to:
// those of the models that name it, else the host of its first use.
//
// It knows neither models nor the environment; package app decides which of the two a
// key comes from.
//
// Read first: [File.Use], [File.Set], [Login].
package keyfile
