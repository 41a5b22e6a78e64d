// Package approve is fika approve: the tool calls that wait for a person's word, and
// the answer. [AskAtTerminal] asks whoever runs a prompt here.
//
// Read first: [New], [AskAtTerminal].
package approve
