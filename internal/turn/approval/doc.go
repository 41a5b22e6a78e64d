// Package approval judges the tool calls of a turn by a person's rules, and determines
// what a person's answer about a call is bound to.
//
// The decisions themselves are made by package guard, which reads no files. The binding
// of an answer depends on files (the script that a command runs may have changed when
// the answer comes), so it is made here. Asking, waiting and storing belong to the turn
// and the store.
//
// Read first: [Judge]. A Judge does not change and is safe for concurrent use.
package approval
