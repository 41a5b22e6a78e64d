// Package backup copies a home's database and what people have edited into one
// file, brings it back, and moves the database to another place.
//
// It is no second store: mirrors, caches, logs, keys and passwords stay out of a
// backup, because they are made again or kept elsewhere.
//
// Read first: [Write], [Restore], [MoveStore].
//
// Who owns what: Restore and MoveStore hold the locks of the hub and of all
// contexts while they work. [KeepDaily] runs in a goroutine of the hub, which
// joins it.
//
// How it fails: Locked while a hub runs or somebody works, Conflict instead of
// writing over a file, Invalid for what is no backup. Everything that can be
// wrong with a backup is found before anything moves; what is replaced is set
// aside under another name.
package backup
