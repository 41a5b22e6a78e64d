// Package app is what one invocation of fika has opened: home, settings, keys,
// store, bus connection, models, the processes it started, and who is asking.
//
// It is wiring and decides nothing. What works in a context is in package
// worker, what a person may ask of the system in package client, the long-lived
// processes in package daemon; all of them are built on an [App].
//
// Read first: [App] (a type per use, everything made on first use),
// [Configuration.Config] and [Resolver.Settings] (with the last ones that could be
// read), [Providers.Model].
//
// Who owns what: an App owns what it opened and closes it in reverse order. It
// is used from one goroutine; [Configuration.Config] may be called from many.
//
// How it fails: settings that a person wrote wrongly are errors of kind Invalid
// with file, line and column; a process that follows its files keeps to those it
// could read last, and says so. A missing hub is kind NotFound.
package app
