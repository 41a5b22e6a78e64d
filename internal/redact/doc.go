// Package redact takes known keys out of texts before they are stored or shown:
// a value becomes [key NAME], also where it comes in pieces, and where it was
// encoded in one of the usual ways.
//
// It knows values, not kinds of values: a key that nobody named is not found. It
// is pure and keeps nothing but the keys it was told of.
//
// Read first: [New], [NewFollowing], [Keys.Text], [Keys.Stream]. A nil *Keys redacts
// nothing. A Keys may be used from many goroutines, a [Stream] from one.
package redact
