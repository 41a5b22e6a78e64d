// Package contexts is what a person can do with contexts: list, make, show,
// switch, clear, rename, delete, import and export them, and look after their
// prompts. Each function is one command.
//
// It runs no turns. What asks a model, a compaction by hand too, is in package
// worker, as is the locking; what files look like is for package folder to say.
//
// Read first: [List], [OpenReader] (reading without a lock), [Clear].
//
// Who owns what: functions that change something open a worker.Worker or lock
// the folder, and give it back before they return. A [Reader] holds nothing.
//
// How it fails: NotFound for a context that is not there, Conflict for one that
// is, Locked while somebody works in it, Denied when a hook forbids it. A command
// that was cut short is finished by giving it again.
package contexts
