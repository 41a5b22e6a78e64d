// Package hub is the one long-lived process of a home: it supervises agent processes,
// receives and answers the requests of foreign publishers, and looks after what nobody
// else does (deadlines, outcomes of agents that are gone, old chats). What foreign
// publishers may ask is for [Intake] to say.
//
// Read first: [Hub.Run], [Options] and, unexported, supervisor (starts, watches and
// ends agents), requestIntake (messages of other programs) and caretaker (what has
// lapsed). One goroutine owns all state and reads one mailbox; each child process has a
// goroutine that waits for its exit. Agents outlive the hub: a new hub adopts them. The
// caller holds the hub's lock and owns the embedded server.
package hub
