// Package doctor looks for what is wrong with a home: files, settings, database,
// contexts, plugins, processes and bus, one check after the other.
//
// It starts nothing, asks no model, and changes nothing unless it is told to
// mend, and then only what can be mended without losing anything.
//
// Read first: [Examine], [Finding], [CheckConfig] (settings alone).
//
// Who owns what: an examination is one call. What it opens belongs to the App.
//
// How it fails: what is wrong is a [Finding], not an error; an error says that
// not even the home could be opened.
package doctor
