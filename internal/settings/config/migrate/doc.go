// Package migrate converts the configuration of other programs to a config.toml of
// fika: the JSON and TOML of niffler, the TOML of chibi.
//
// It does not import conversations, and it converts nothing in place: the source is
// copied to a backup first, the result is a new file, and an existing file is never
// touched.
//
// Read first: [Run] (one migration), [Result] (its result) and [FindForeign] (where
// there is something to migrate).
//
// Settings that fika does not know are listed in [Result], with the reason; settings
// that it knows but does not accept stay in the new file as comments. The new file is
// always one that fika loads.
package migrate
