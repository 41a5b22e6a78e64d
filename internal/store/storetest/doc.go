// Package storetest is the suite that every implementation of *store.Store must pass,
// with one named subtest for each promise of the contract.
//
// It knows no engine: [Test] opens stores through a function of the implementation
// and examines them through the contract alone. Whatever depends on an engine
// (several processes, full disks, migrations) is tested beside that engine.
//
// Read first: [Test], [Clock] and, unexported, world (one store with the helpers that
// the subtests are written in).
package storetest
