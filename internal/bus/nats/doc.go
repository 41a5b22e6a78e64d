// Package nats implements the bus over NATS: the connection of a process
// ([Dial]), the server a hub embeds ([StartServer]), and the stream that keeps
// what foreign publishers send until the hub has read it ([OpenInbound]).
//
// It is not a queue and holds no truth: rows in the store are, and every wake-up
// may get lost. It decides nothing about agents, requests or chats.
//
// Read first: [Dial], [Server], [OpenInbound].
//
// Who owns what: the caller of [StartServer] holds the operating system's lock
// on run/hub.lock before it calls and until [Server.Shutdown] has returned,
// because two servers on one JetStream folder ruin it without a word. The
// server owns run/hub.json and run/credentials. A connection owns its
// subscriptions; Close ends and joins them. Handlers run one at a time per
// subscription, in goroutines of the client library, and must not close their
// own subscription.
//
// How it fails: a connection that is lost is redialled for ever, with jitter,
// and says so once through Watch. A server that cannot listen or cannot open
// its folder fails at start and names the port or the folder. A store that no
// longer takes writes shows in Probe, and [Server.Restart] is the remedy.
package nats
