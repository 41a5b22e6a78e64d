// Package importtest holds the rules of this module as tests: which package may import
// which, where goroutines may start, how long a file may grow. It has no code to run.
//
// Read first: imports.txt, the table [guarded], then the tests of house_test.go. They
// read the source of the whole module with go/parser, so they need nothing but the
// tree and give the same result on every system.
//
// How it fails: an import that no row allows fails, and so does a row that nothing
// uses. Add a row with its reason, or remove the import; the arrows of
// docs/internals/architecture.md only go down.
package importtest
