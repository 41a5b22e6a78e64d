// Package master is the console in which a person types to give agents work: it reads
// lines, routes them (@agent:task: …, @agent:ask: …, @agent: …), and shows each outcome
// with the request it belongs to. It does not show streams: those are visible at the
// agents.
//
// It holds no truth. Requests are rows before it reports them as sent, and outcomes are
// read from the store; the bus only makes it quick. [Memory] keeps the ids of pending
// requests from before they are committed, so that the next console shows what finished
// while none was open.
//
// Read first: [Master.Run], [ParseLine], [Options]. A line is parsed in parse.go, sent in
// send.go, and its outcome shown in outcome.go; the pending requests are a pendingList,
// what is known about agents a roster, and a display prints. One goroutine owns all state
// and reads one mailbox; another reads lines, and long operations (starting an agent,
// working a prompt here) have goroutines of their own that report back. Run joins them
// all.
package master
