// Package acptest is an editor for tests: it speaks the Agent Client Protocol, and holds
// what it is told against the schema that is published. It knows nothing of fika.
//
// Read first: [Open], [Editor].
package acptest
