// Package hook is the contract of hooks: named points of a run at which
// plugins may look at, change or refuse what is about to happen.
//
// Read first: [Point] and [Runner]. internal/extension/plugin implements Runner with
// executables; [None] does nothing.
package hook
