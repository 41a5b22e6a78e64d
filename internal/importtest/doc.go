// Package importtest holds the rules of the house as tests: which package may
// import which, where goroutines may start, how long a file may grow. It has
// no code to run.
//
// Read first: imports.txt, the table [guarded], then the tests of house_test.go.
// They read the source of the whole module with go/parser, so they need nothing
// but the tree and say the same on every system.
//
// How it fails: an import that no row allows and a row that nothing uses both
// fail. Add a row with its reason, or take the import out; the arrows of
// docs/ARCHITECTURE.md go down only.
package importtest
