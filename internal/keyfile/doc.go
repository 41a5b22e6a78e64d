// Package keyfile stores API keys in a file of the home that its owner alone
// may read. A key is given out for the hosts it is bound to and for no other:
// those of the models that name it, else the host of its first use.
//
// It neither knows models nor the environment; see package app for which of
// the two a key comes from.
//
// Read first: [File.Use], [File.Set], [File.List].
package keyfile
