// Package service is what a person or a program may ask of a home: give agents work and
// follow it, say something in a chat, pause, continue, stop, pin, set limits, look.
// Every command, the master console and the session use it, and so will any other user
// interface.
//
// It is the only place that writes and then wakes: it first commits a row with what is
// wanted, and then sends a wake-up on the bus, which may be lost. Without a hub
// everything works, only slower. It also decides who is asking: a person under a name,
// or the agent whose tool runs the command, which speaks as itself and in its chain.
//
// It runs no turns, writes no context's files and draws nothing.
//
// Read first: [Open], [Service] with its parts ([Chats], [ChatControl], [Requests],
// [Agents], [Conversations], [Hub]), [Follow]. A Service belongs to the App it was
// opened with, which closes what it uses. Its parts are safe for concurrent use.
package service
