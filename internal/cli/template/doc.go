// Package template is fika agent template: it lists and shows the templates of agents.
//
// Read first: [New].
package template
