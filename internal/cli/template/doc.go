// Package template is fika template: the agents to start from.
//
// Read first: [New].
package template
