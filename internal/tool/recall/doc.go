// Package recall holds the tool recall: an agent finds again what was said in its
// own past, beyond its window.
//
// What belongs to that past is said by package reading; the tool only bounds and
// marks what is found. A person gives it by name, in tool_permissions. Text from
// outside that is found taints the turn again.
//
// Read first: [New]. It owns nothing and may be used from many goroutines.
package recall
