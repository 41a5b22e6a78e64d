// Package template is fika template: it lists and shows the templates of agents.
//
// Read first: [New].
package template
