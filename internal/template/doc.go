// Package template holds the agents and teams that fika brings along, and makes
// agents' files from them and from a person's own.
//
// A template is the file of an agent, as settings and prompt in Markdown. What
// is made from it is a file of its own, to be changed at will.
//
// Read first: [Set], [Set.Find], [Template.FileFor], [ShippedTeams]. It decides nothing
// about where files go, and knows no settings beyond those it writes.
package template
