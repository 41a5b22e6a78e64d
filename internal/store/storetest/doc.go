// Package storetest is the suite that every implementation of *store.Store must
// pass, one named subtest for each promise of the contract.
//
// It knows no engine: [Test] opens stores through a function of the
// implementation and looks at them through the contract alone. What depends on
// an engine (several processes, full disks, migrations) is tested beside it.
//
// Read first: [Test], [Clock] and, unexported, world (one store with the
// helpers the subtests talk in).
package storetest
