// Package template holds the agents and teams that fika ships, and makes agents' files
// from them and from a person's own templates.
//
// A template is the file of an agent: settings and prompt in Markdown. A file made
// from it is independent and may be changed at will.
//
// Read first: [Set], [Set.Find], [Template.FileFor], [ShippedTeams]. It does not
// decide where files go, and knows no settings beyond those it writes.
package template
