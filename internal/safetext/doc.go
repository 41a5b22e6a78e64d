// Package safetext takes out of a text what could drive a terminal or hide what
// the text says: escape sequences, controls, and, where a person reads it,
// characters that show nothing.
//
// It knows nothing of streams, widths and styles: that is package term, which
// cleans with it what it prints. Keys are taken out by package redact.
//
// Read first: [Clean] (for a person), [Plain] (to be stored), [Options].
//
// All functions are pure; a [Cleaner] is for one goroutine. Nothing fails:
// bytes that are no text become U+FFFD.
package safetext
