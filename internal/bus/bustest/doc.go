// Package bustest holds what every implementation of the bus must pass
// ([Run]), a bus without a server for tests ([Memory]) that passes it, and a NATS
// server as others run it ([StartServer]).
//
// Read first: [Memory], [Run], [Fixture].
//
// A [Bus] owns its subscriptions, each with one goroutine that Close joins.
// Nothing here is for production: nothing is kept and nobody is refused.
package bustest
