// Command chaos tests the promises of docs/concepts/promises.md by breaking things: it kills
// fika at every durable step, halts it, takes away its bus, its disk and its clock,
// and then checks that nothing accepted was lost and nothing finished was done twice.
//
//	go run ./test/chaos -seeds 20            every crash point
//	go run ./test/chaos -point finish-request.after
//	go run ./test/chaos -fault stop-owner
//	go run ./test/chaos -control fence       leaves a guard out: must turn red
//	go run ./test/chaos -soak 10m            20 agents, random kills and pauses
//
// Each run has a home of its own, a hub, three agents and a model server in
// Each run has its own home, a hub, three agents and a model server in this process.
// Whatever the program confirmed counts as accepted; the verdict is read from the
// database, from the requests to the model server, and from files that tools wrote.
// Homes of red runs are kept and named.
// Read first: [scene] (what is done in a run), [sweep] (points and seeds),
// verdict in check.go.
package main
