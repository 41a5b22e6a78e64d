// Package safetext removes from a text what could drive a terminal or hide what the text
// says: escape sequences, controls and, if a person reads it, invisible characters.
//
// It knows nothing of streams, widths and styles: that is package term, which uses it to
// clean what it prints. Keys are replaced by package redact.
//
// Read first: [Clean] (for a person), [Plain] (to be stored), [Options].
//
// All functions are pure; a [Cleaner] is not safe for concurrent use. Nothing fails:
// bytes that are not valid UTF-8 become U+FFFD.
package safetext
