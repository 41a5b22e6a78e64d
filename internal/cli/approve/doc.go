// Package approve is fika approve: it lists the tool calls that wait for a person's
// approval, and answers them. [AskAtTerminal] asks the person who runs a prompt here.
//
// Read first: [New], [AskAtTerminal].
package approve
