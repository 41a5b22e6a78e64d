// Package term describes the standard streams, and makes text fit to be shown on them:
// cleaned of terminal escapes, coloured or not, cut to width, set in tables, with
// durations and counts that a person can read.
//
// It draws no prompt and reads no keys: that is package console.
//
// Read first: [Streams] (the three streams and what is known about them), [Clean]
// (untrusted text without terminal escapes; [Cleaner] does the same to a stream) and
// [FormatTable].
//
// A Streams belongs to its creator and is not changed afterwards; sharing it is as safe
// as the readers and writers inside. Everything else here works on values. Nothing in
// this package fails on odd input: what cannot be shown is left out or replaced by
// U+FFFD.
package term
