// Package recall holds the tool recall, with which an agent searches its own past beyond
// its window.
//
// Package reading defines what belongs to that past; the tool only bounds and marks the
// results. A person grants it by name, in tool_permissions. Text from outside in a
// result taints the turn again.
//
// Read first: [New]. The tool owns nothing and is safe for concurrent use.
package recall
