// Package doctor is fika doctor: what is wrong with a home, and what can be repaired.
//
// Read first: [New].
package doctor
