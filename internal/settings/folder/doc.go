// Package folder is the technology of files: the home folder, the context folders in
// it, and everything in them that people and other programs read and edit. It knows
// files and [fika.Entry] values; it knows no SQL, no bus and no model.
//
// Read first: [Home] (where everything is), [Lock] (who may write in a context folder)
// and [Mirror] (the plain-text copy of the database's entries).
//
// Who owns what: the texts (system_prompt.md, todos.md …) belong to the person and are
// only replaced by compare-and-swap; the mirror files belong to the lock holder;
// everybody may append to inbox.jsonl. The lock file is never deleted: an flock on it
// decides, its content only informs. A [Lock] owns one goroutine, its heartbeat, which
// Close joins.
//
// How it fails: with *fika.Error. Invalid names the file that a person must correct,
// Locked carries a [*HeldError], Conflict means that somebody else changed the file
// meanwhile, Storage that the disk failed. The mirror is derived: whatever happens to
// it, the next [OpenMirror] repairs it, and anything that fika did not write is set
// aside under another name, never overwritten.
package folder
