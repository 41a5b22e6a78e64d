// Package bustest holds the tests that every implementation of the bus must pass ([Run]),
// a bus in memory for tests ([Memory]) that passes them, and a plain NATS server as
// others run it ([StartServer]).
//
// Read first: [Memory], [Run], [Fixture].
//
// A [Bus] owns its subscriptions, each with one goroutine that Close joins. Nothing here
// is for production: nothing is stored and nobody is refused.
package bustest
