// Package archive takes old rows out of the database and keeps them as files that people
// and programs can read, and stores them again.
//
// An archive is two files in archive/KIND/MONTH of the home: NAME.jsonl holds the rows as
// they were, one a line, and has the beginning of its SHA-256 in its name; NAME.md holds
// the same for people. The package does not decide what is old: the settings do, and
// store.Retention knows what may go.
//
// Read first: [Archive.Run], [Archive.Import], file.go (the form of the files).
//
// The order of writes is what a kill cannot break: the files are written and synced under
// names that end in .new; one transaction removes the rows and records the archive's name;
// only then do the files get their names. Whoever begins next gives the files their names
// if the rows are gone, and removes them if the rows are still there. So rows are never in
// neither place, and never in two archives.
//
// One process at a time may run an Archive: it holds the lock of the hub.
package archive
