// Package project holds the commands of fika project: which projects a person
// has used, and where their data are.
//
// Read first: [New], which has all of them.
package project
