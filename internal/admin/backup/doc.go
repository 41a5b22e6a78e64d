// Package backup copies a home's database and everything that people have edited into
// one file, restores it, and moves the database to another place.
//
// A backup is not a second store: mirrors, caches, logs, keys and passwords are left
// out because they are made again or kept elsewhere.
//
// Read first: [Write], [Restore], [MoveStore].
//
// Who owns what: Restore and MoveStore hold the locks of the hub and of all
// contexts while they work. [KeepDaily] runs in a goroutine of the hub, which
// joins it.
//
// How it fails: Locked while a hub runs or an agent is at work, Conflict rather than
// overwriting a file, Invalid for a file that is not a backup. A damaged database is
// found before anything moves; whatever is replaced is set aside under another name.
package backup
