// Package message holds the JSON bodies of the bus: camelCase fields, exactly those
// that every NATS client may send or read, and nothing specific to Go.
//
// Read first: [Request], [Status], [Response], [Heartbeat], [Control]. Parsing never
// panics and trusts nothing: names, sizes and times are checked here, existence is
// checked by the store. Unknown fields are ignored.
package message
