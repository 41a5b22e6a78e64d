// Package complete offers the shell what an argument or a flag could be: names of
// agents, chats, contexts, models, ids of requests.
//
// It is no command, and finds nothing that the commands do not: it asks the store
// and the folders of the home, never the bus. A key that is pressed in passing
// starts nothing and waits for nobody; where something fails, nothing is offered.
//
// Read first: [AgentNames] (one sort of names), [FirstOnly] and [AnyNumber] (which
// arguments it is offered for).
package complete
