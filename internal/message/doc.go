// Package message holds the JSON bodies of the bus: camelCase fields, exactly
// those every NATS client may send or read, and nothing of Go's own making.
//
// Read first: [Request], [Status], [Response], [Heartbeat], [Control]. Parsing
// never panics and never trusts: names, sizes and times are checked here,
// existence is the store's to say. Unknown fields are ignored.
package message
