//go:build race

package app

// raced says that the race detector makes everything slow.
const raced = true
