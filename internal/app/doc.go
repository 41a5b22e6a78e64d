// Package app is what one invocation of fika has opened: home, settings, keys, store,
// bus connection, models, the processes it started, and who is asking.
//
// It is wiring and decides nothing. Package worker works in contexts, package client is
// what a person may ask of the system, and package daemon contains the long-lived
// processes; all of them are built on an [App].
//
// Read first: [App] (a type for each use, everything created on first use),
// [Configuration.Config] and [Resolver.Settings] (with the last readable files),
// [Providers.Model].
//
// Who owns what: an App owns what it opened and closes it in reverse order. It must be
// used from one goroutine; [Configuration.Config] may be called from many.
//
// How it fails: mistakes in settings that a person wrote are errors of kind Invalid
// with file, line and column. A process that follows its files keeps the last ones it
// could read, and says so. A missing hub is kind NotFound.
package app
