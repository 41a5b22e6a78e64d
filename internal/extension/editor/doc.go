// Package editor passes the MCP servers that an editor brings from the process that speaks
// with it to the processes of agents, for as long as a session is open there.
//
// It starts no server and asks nobody: a door asks the person, and an agent's process runs
// what they allow. The two meet at a Unix socket in the home. Nothing else is written, so
// that nothing is left of a server, and of the secrets in its environment, once either side
// has ended.
//
// Read first: [Read], [Lend], [Borrow].
//
// How it fails: what an editor sends and nobody could start is refused by name, with a
// reason. A socket that nobody serves any more means that there are no servers.
package editor
