// Package otlp sends traces to a collector, in the JSON form of OTLP over HTTP: of each
// request that has ended one span, and below it one for each call of a model or a tool and
// for each time that it waited.
//
// Spans are made from rows, after they were committed, by one reader of events that
// remembers its place in the database. Their ids follow from the ids of the rows, so that
// what is sent again after a crash is the same span. Nothing is queued in memory: while a
// collector does not answer, events wait in the database.
//
// The wire is written by hand because it is small: the library of OTLP's protocol buffers
// adds 1.7 MB to a program, and the collector's own 6.7 MB. Tests decode all that is sent
// with the latter.
//
// Read first: [Worker.Step], [Projection.Spans], [Poster.Post].
package otlp
