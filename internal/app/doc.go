// Package app builds the graphs: which store, which bus, which models, tools
// and hooks belong together, and for which kind of process. It is the only
// package that names technologies side by side.
//
// Read first: [App] (one invocation, everything made on first use), [App.Run]
// (a one-shot prompt), [App.Agent] (an agent process). An App owns what it
// opened and closes it in reverse order.
package app
