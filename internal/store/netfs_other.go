//go:build !linux

package store

// networkFS returns "": so far, only Linux can tell a network file system.
func networkFS(string) string { return "" }
