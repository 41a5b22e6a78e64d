// Command house prints how the code is built: names, sizes, widths, imports,
// and the size of the program. It judges nothing; the figures stand in
// docs/ARCHITECTURE.md, and whoever changes them says why.
//
// Product code is every Go file that is no test and lies neither under test/
// nor in a package that only tests import (…test).
//
// Read first: measure in main.go, survey in survey.go.
package main
