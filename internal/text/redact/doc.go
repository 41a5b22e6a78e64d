// Package redact replaces known keys in texts before they are stored or shown: a value
// becomes [key NAME], even if the text comes in pieces, and even if the value was encoded
// in one of the usual ways.
//
// It knows values, not kinds of values: a key that nobody has named is not found. It is
// pure, and keeps nothing but the keys that it was given.
//
// Read first: [New], [NewFollowing], [Keys.Text], [Keys.Stream]. A nil *Keys redacts
// nothing. A Keys is safe for concurrent use, a [Stream] is not.
package redact
