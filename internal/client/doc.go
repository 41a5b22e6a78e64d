// Package client is what a person or a program may ask of a home: give agents
// work and follow it, say something in a chat, pause, continue, stop, pin, set
// limits, look. Every command, the master console and the session ask it, and
// so will any other face.
//
// It is the only place that writes and then wakes: what is wanted is a committed
// row first, and a wake-up on the bus second, which may be lost. Without a hub
// everything works, only slower. It also decides who is asking: a person under a
// name, or the agent whose tool runs the command, which speaks as itself and in
// its chain.
//
// It runs no turns, writes no context's files and draws nothing.
//
// Read first: [Open], [Client] with its faces ([Chats], [ChatControl], [Requests],
// [Agents], [Conversations], [Hub]), [Follow]. A Client belongs to the App it was opened
// with, which closes what it uses; its faces may be used from many goroutines.
package client
