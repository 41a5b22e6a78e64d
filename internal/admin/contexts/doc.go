// Package contexts implements what a person can do with contexts: list, make, show,
// switch, clear, rename, delete, import and export them, and manage their prompts.
// Each function is one command.
//
// It runs no turns. Anything that asks a model, including compaction by hand, is in
// package worker, as is the locking; the format of the files belongs to package
// folder.
//
// Read first: [List], [OpenReader] (reading without a lock), [Clear].
//
// Who owns what: functions that change something open a worker.Worker or lock the
// folder, and release it before they return. A [Reader] holds nothing.
//
// How it fails: NotFound for a context that does not exist, Conflict for one that
// already does, Locked while another process works in it, Denied when a hook forbids
// it. An interrupted command is finished by giving it again.
package contexts
