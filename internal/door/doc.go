// Package door is what the doors have in common that do not speak HTTP: errors in words. Each door is a package below it; it translates a protocol into
// what package api asks, and back, and keeps no task, queue or session of its own.
//
// Read first: [Words].
package door
