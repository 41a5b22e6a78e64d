// Package ask is fika ask and fika agent route: work for one agent, for a team, or
// for the agent that fits a prompt.
//
// Read first: [NewAsk], [NewTask], team.go.
package ask
