// Package bustest holds what every implementation of the bus must pass
// ([Run]), and a bus without a server for tests ([Memory]) that passes it.
//
// Read first: [Memory], [Run], [Fixture].
//
// A [Bus] owns its subscriptions, each with one goroutine that Close joins.
// Nothing here is for production: nothing is kept and nobody is refused.
package bustest
