// Package doctor finds out what is wrong with a home: files, settings, database,
// contexts, plugins, processes and bus, one check after the other.
//
// It starts no agent, asks no model, and changes nothing unless told to repair, and
// then repairs only what it can without losing anything.
//
// Read first: [Examine], [Finding], [CheckConfig] (settings alone).
//
// Who owns what: an examination is one call. What it opens belongs to the App.
//
// How it fails: a fault of the home is a [Finding], not an error; an error means that
// not even the home could be opened.
package doctor
