// Package redact takes known keys out of texts before they are stored or shown:
// a value becomes [key NAME], also where it comes in pieces.
//
// It knows values, not patterns: a key that nobody named is not found, and
// neither is one that was encoded. It is pure and keeps nothing but the keys it
// was made with.
//
// Read first: [New], [Keys.Text], [Keys.Stream]. A nil *Keys redacts nothing. A
// Keys may be used from many goroutines, a [Stream] from one.
package redact
