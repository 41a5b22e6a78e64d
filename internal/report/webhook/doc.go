// Package webhook posts events to a receiver over HTTP: each at least once, in order, signed,
// with an id that is the same each time.
//
// A receiver that does not answer holds up its own events, not those of others: the next
// attempt comes later each time, and what is waited for is a row of the database, so that a
// new process goes on where the last one was. What a receiver refuses is stored as refused,
// and the next event follows. Nothing is queued: events are read from the database when
// their turn comes, and are kept there for a week.
//
// Signatures are those of the Standard Webhooks specification, for which there are
// libraries in most languages.
//
// Read first: [Worker.Step], [Poster.Post], [Sign].
package webhook
