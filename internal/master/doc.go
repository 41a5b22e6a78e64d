// Package master is the console a person types into to give agents work: it
// reads lines, routes them (@agent:task: …, @agent:ask: …, @agent: …), and
// shows each outcome with the request it belongs to. It shows no streams: those
// are seen at the agents.
//
// It holds no truth. Requests are rows before it says that they are sent, and
// outcomes are read from the store; the bus only makes it quick. The ids it
// waits for are kept by [Memory] before they are committed, so that the next
// console shows what finished while none was open.
//
// Read first: [Master.Run], [ParseLine], [Options]. A line is understood in parse.go, sent
// in send.go, and its outcome shown in outcome.go; what is waited for is a
// pendingList, what is known of agents a roster, and a display prints. One goroutine
// owns all state and reads one mailbox; one more reads lines, and what takes long
// (starting an agent, a prompt worked here) has a goroutine of its own that reports
// back. Run joins them all.
package master
