// Package nats implements the bus over NATS: the connection of a process ([Dial]), the
// server that a hub embeds ([StartServer]), and the stream that keeps what foreign
// publishers send until the hub has read it ([Server.OpenInbound]).
//
// It is not a queue and holds no truth: the rows in the store do, and every wake-up may
// get lost. It decides nothing about agents, requests or chats.
//
// Read first: [Dial], [Server], [Server.OpenInbound].
//
// Who owns what: the caller of [StartServer] holds the operating system's lock on
// run/hub.lock from before the call until [Server.Shutdown] has returned, because two
// servers on one JetStream folder silently ruin it. The server owns run/hub.json and
// run/credentials. A connection owns its subscriptions; Close ends and joins them.
// Handlers run one at a time per subscription, in goroutines of the client library, and
// must not close their own subscription.
//
// How it fails: a connection that is lost is redialled for ever, with jitter, and reports
// the loss once through Watch. A server that cannot listen, or cannot use even a new
// folder, fails at start and names the port or the folder. A store that no longer takes
// writes shows in Probe, and [Server.Restart] is the remedy.
package nats
