// Package door is what the doors have in common that do not speak HTTP: lines of JSON
// from another program. Each door is a package below it; it translates a protocol into
// what package api asks, and back, and keeps no task, queue or session of its own.
//
// Read first: [Lines], [Error].
package door
