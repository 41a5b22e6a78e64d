// Package reading decides what one agent may read of another, and reads it.
//
// The same rule holds for tools, commands and the bus. An agent may read the ongoing
// conversation of another unless readable_by leaves it out. It may read the result of
// a task under the same condition for the agent that worked it and, if an agent gave
// the task, for that agent too, because the prompt holds its words; the agent that
// gave a task may always read it. It may read a chat that it takes part in. A person
// may read everything.
//
// Of its own past an agent finds everything but what a person has cleared: its own
// conversations and tasks, and the chats that it takes part in ([Past]).
//
// Read first: [Archive], [Past]. The package owns nothing and is safe for concurrent
// use.
package reading
