//go:build !linux

package store

// networkFS names the network file system that dir is on. Only Linux can tell
// so far.
func networkFS(string) string { return "" }
