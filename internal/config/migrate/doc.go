// Package migrate turns the configuration of other programs into a config.toml
// of fika: the JSON and TOML of niffler, the TOML of chibi.
//
// It is not an importer of conversations, and it converts nothing in place:
// the source is copied to a backup first, the result is a new file, and a file
// that exists is never touched.
//
// Read first: [Run] (one migration), [Result] (what became of it) and [FindForeign]
// (where there is something to migrate).
//
// What fika does not know is listed in [Result], with the reason; what it
// knows but does not accept as it is stays in the new file as a comment. The
// new file is always one that fika loads.
package migrate
