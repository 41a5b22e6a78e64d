// Package doctor is fika doctor: it reports what is wrong with a home, and repairs what
// can be repaired.
//
// Read first: [New].
package doctor
