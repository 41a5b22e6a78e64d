// Package daemon assembles the two long-lived processes: the hub of a home ([RunHub])
// and an agent ([RunAgent]). It chooses the bus, the store, how processes are started,
// and what the hub looks after besides its agents.
//
// It decides nothing: supervision is in package hub, the loop of an agent in package
// agent, the inputs of a turn in package worker. Starting a hub from a command and
// ending one are in package client.
//
// Read first: [RunHub], [RunAgent], hubBus (the embedded server, or an external one).
//
// Who owns what: both functions own what they opened and close it before they return,
// in reverse order: bus connection, embedded server, hub lock; bus connection, hooks,
// worker. Agents started by the hub are in sessions of their own and outlive it.
//
// How it fails: with Locked if the process already runs, Lost if another owner took the
// agent over, Denied if a server refuses. A hub whose home is gone ends.
package daemon
