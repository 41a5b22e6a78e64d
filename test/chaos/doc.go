// Command chaos proves the promises of docs/PROMISES.md by breaking things: it
// ends fika at every durable step, halts it, takes its bus, its disk and its
// clock away, and then checks that nothing accepted was lost and nothing
// finished was done twice.
//
//	go run ./test/chaos -seeds 20            every crash point
//	go run ./test/chaos -point finish-request.after
//	go run ./test/chaos -fault stop-owner
//	go run ./test/chaos -control fence       leaves a guard out: must turn red
//	go run ./test/chaos -soak 10m            20 agents, random kills and pauses
//
// Each run has a home of its own, a hub, three agents and a model server in
// this process. What the program printed counts as accepted; the verdict is
// read from the database, from what the model server was asked, and from files
// that tools wrote into. Homes of red runs are kept and named.
//
// Read first: [scene] (what is done in a run), [sweep] (points and seeds),
// verdict in check.go.
package main
