// Package complete offers the shell completions for arguments and flags: names of
// agents, chats, contexts and models, ids of requests.
//
// It is not a command, and knows no more than the commands do: it reads the store and
// the files of the home, and never uses the bus. Pressing Tab therefore starts nothing
// and waits for no process. What cannot be read is not offered.
//
// Read first: [AgentNames] (one kind of name), [FirstOnly] and [AnyNumber] (for which
// arguments it is offered).
package complete
