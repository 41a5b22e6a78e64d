// Package redacted is a decorator that takes known keys out of what a model
// says, before anybody is shown it and before it is stored: a model repeats what
// it has read.
//
// Read first: [Model].
package redacted
