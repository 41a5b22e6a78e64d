// Package undo keeps what agents change with their file tools, and takes it back.
//
// A [Log] is a folder of the home: objects/ holds contents of files under their
// SHA-256, turns/ a file of JSON lines for every request that changed something.
// What was there is stored, and the change noted, before the change is made. So
// nothing has to be noted afterwards: by the hash of a file one sees whether the
// change happened, and whether anybody has changed the file since.
//
// [Log.Plan] says what would become of every file, and [Log.Apply] does it, file
// by file, each as a whole. What it is about to do is stored first, and what came
// of it last: after a crash in between, the next one goes on. Taking a change back
// is a change of its own, so it can be taken back in turn.
//
// It is not a backup: contents are kept for thirty days, and the oldest go when
// there is more than a gibibyte ([Log.Prune]). It does not know what commands have
// changed, only what it is told of it ([Ran]). Files are reached through [Files],
// which decides what is in reach.
//
// Read first: [Log], [Turn], [Plan].
package undo
