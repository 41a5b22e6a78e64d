// Package approval judges the tool calls of a turn by a person's rules, and says
// what a person's answer about a call is bound to.
//
// It decides nothing by itself: package guard does, which reads no files. What is
// bound depends on files (the script that a command runs may be another one when
// the answer comes), so that is here. Asking, waiting and storing are the turn's
// and the store's.
//
// Read first: [Judge]. It never changes and may be used from many goroutines.
package approval
