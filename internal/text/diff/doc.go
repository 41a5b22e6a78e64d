// Package diff compares texts line by line, for people to read.
//
// It makes no patches. Read first: [Lines].
package diff
