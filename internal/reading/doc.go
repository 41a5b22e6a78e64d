// Package reading says what one agent may read of another, and reads it.
//
// The rule is one for tools, commands and the bus. An agent reads the ongoing
// conversation of another unless readable_by leaves it out. It reads the result
// of a task under the same condition of the agent that worked it and, if an
// agent gave it, of that one as well, whose words the prompt holds; whoever gave
// a task reads it always. It reads a chat that it takes part in. A person reads
// everything.
//
// Of its own past an agent finds all but what a person has cleared: its own
// conversations and tasks, and the chats that it takes part in ([Past]).
//
// Read first: [Archive], [Past]. It owns nothing and may be used from many goroutines.
package reading
