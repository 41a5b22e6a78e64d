//go:build !race

package worker

// raced says that the race detector makes everything slow.
const raced = false
