// Package daemon puts the two long-lived processes together: the hub of a home
// ([RunHub]) and an agent ([RunAgent]). It chooses the bus, the store, the way
// processes are started, and what the hub looks after beside its agents.
//
// It decides nothing: supervision is in package hub, the loop of an agent in
// package agent, what a turn is given in package worker. Starting a hub from a
// command and ending one are in package client.
//
// Read first: [RunHub], [RunAgent], hubBus (the embedded server, or somebody
// else's).
//
// Who owns what: both functions own what they opened and close it before they
// return, in reverse order: bus connection, embedded server, hub lock; bus
// connection, hooks, worker. Agents started by the hub are in sessions of their
// own and outlive it.
//
// How it fails: Locked when the process runs already, Lost when another owner
// took the agent over, Denied when a server refuses. A hub whose home is gone
// ends.
package daemon
