// Package folder is the technology of files: the home folder, the context
// folders in it, and everything in them that people and other programs read
// and edit. It knows files and [fika.Entry] values; it knows no SQL, no bus
// and no model.
//
// Read first: [Home] (where everything is), [Lock] (who may write in a context
// folder) and [Mirror] (the plain-text copy of what the database holds).
//
// Who owns what: the texts (system_prompt.md, todos.md …) are the person's and
// are only replaced by compare-and-swap; the mirror files are the lock
// holder's; inbox.jsonl is everybody's to append to. The lock file is never
// deleted: an flock on it decides, its content informs. A [Lock] owns one
// goroutine, its heartbeat, which Close joins.
//
// How it fails: with *fika.Error. Invalid names the file a person must mend,
// Locked carries a [*HeldError], Conflict means that somebody changed the file
// meanwhile, Storage that the disk refuses. The mirror is derived: whatever
// happens to it, the next [OpenMirror] repairs it, and what is not fika's own
// writing is set aside under another name, never overwritten.
package folder
