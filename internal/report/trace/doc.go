// Package trace shows where the time and the money of a piece of work went: how long
// each request waited, how long its calls of models and tools took, and what fika
// itself took in between.
//
// It only computes: it turns rows from the store into spans. The sums agree with the
// ledger, because each amount is taken from it once.
//
// Read first: [SpansOf], [Span].
package trace
