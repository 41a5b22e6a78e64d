// Package redacted is a decorator that removes known keys from what a model says, before
// it is shown or stored, because a model may repeat what it has read.
//
// Read first: [Model].
package redacted
