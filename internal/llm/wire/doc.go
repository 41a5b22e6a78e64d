// Package wire holds what both providers' protocols have in common: reading
// server-sent events, JSON text that was cut in the middle of a character, and
// turning HTTP answers into errors without secrets.
//
// It is not a client and starts nothing. Everything it keeps is bounded:
// [MaxEvent] for one event, [MaxAnswer] for one answer.
//
// Read first: [Events], [Text], [Failure].
package wire
