// Package term says what the standard streams are, and makes text fit to be
// shown on them: cleaned of terminal escapes, coloured or not, cut to width,
// set in tables, with durations and counts a person can read.
//
// It draws no prompt and reads no keys: that is package console.
//
// Read first: [Streams] (the three streams and what is known of them),
// [Clean] (untrusted text without terminal escapes; [Cleaner] does the same to
// a stream) and [FormatTable].
//
// Streams belongs to whoever made it and is not changed after that; sharing it
// is safe as far as the readers and writers inside are. Everything else here
// works on values. Nothing in this package fails on odd input: what cannot be
// shown is left out or replaced by U+FFFD.
package term
