// Package trace says where the time and the money of a piece of work went: how
// long each request waited, what it asked of models and tools and for how long,
// and what fika itself took between.
//
// It computes: rows come in, as the store has them, and spans come out. The sums
// are those of the ledger, because each amount is taken from it once.
//
// Read first: [SpansOf], [Span].
package trace
