// Package undo records what agents change with their file tools, and undoes it.
//
// A [Log] is a folder of the home: objects/ holds contents of files under their
// SHA-256, turns/ a file of JSON lines for every request that changed something. The
// old content is stored, and the change recorded, before the change is made. So
// nothing has to be recorded afterwards: the hash of a file shows whether the change
// happened, and whether anybody has changed the file since.
//
// [Log.Plan] says what would happen to every file, and [Log.Apply] does it, each file
// atomically. It first stores what it is about to do, and last the results: after a
// crash in between, the next Apply continues. An undo is itself a change, so it can be
// undone in turn.
//
// It is not a backup: contents are kept for thirty days, and the oldest are removed
// when there is more than a gibibyte ([Log.Prune]). Of the changes that commands make
// it knows only what it is told ([Ran]). It reaches files through [Files], which
// decides which are in reach.
//
// Read first: [Log], [Turn], [Plan].
package undo
