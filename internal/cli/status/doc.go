// Package status is fika status: the state of this home, or of all homes of a person.
//
// Read first: [New], all.go.
package status
