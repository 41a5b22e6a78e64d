// Package status is fika status: how this home is, or all homes of a person.
//
// Read first: [New], all.go.
package status
