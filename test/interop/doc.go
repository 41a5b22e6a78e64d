// Package interop lets the real agent programs and clients of others work with fika: they
// are npm packages, and the model behind them is [Model], on loopback.
//
// It is run by make interop, which installs the packages of package-lock.json outside of the
// repository; without them its tests are skipped, each by its name.
//
// Read first: [Model].
package interop
