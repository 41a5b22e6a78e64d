// Package toml reads TOML that a person wrote and keeps the place of every key and
// value, so that the code that interprets them can report everything that is wrong at
// once, with file:line:column.
//
// It knows no settings and opens no files: text goes in, a tree comes out.
// Nothing in it is decoded by reflection, and no key is unknown to it.
//
// Read first: [Read] (text to [Source], the tree with its places), [Assign]
// (a value into a Go variable, or what is wrong with it) and [Problems] (the
// error that lists everything).
package toml
