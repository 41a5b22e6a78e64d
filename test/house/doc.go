// Command house prints how the code is built: names, sizes, widths, imports, and the
// size of the program. It judges nothing; the figures are in docs/internals/architecture.md,
// where a change of them is explained.
//
// Product code is every Go file that is not a test and is neither under test/ nor in a
// package that only tests import (…test).
//
// Read first: measure in main.go, survey in survey.go.
package main
