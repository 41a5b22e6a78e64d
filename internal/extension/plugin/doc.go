// Package plugin runs the executables of the plugins folder: the tools that they offer
// become tools, and the hooks that they listen to become hooks.
//
// A plugin is one executable file, plugins/NAME or plugins/NAME/NAME. Called with
// --schema it describes itself; called without arguments it makes one tool call or
// answers one hook. Its input is in its environment, under FIKA_ and under CHIBI_ names;
// its stdin is the person's terminal, or the input once more; its stdout is the answer;
// its stderr is shown. [EnvDocs] lists the variables.
//
// It is not a sandbox: how plugins are confined comes in as a function. A plugin gets an
// allow-list of environment variables, so no keys, unless the settings name them.
//
// Read first: [Open], [Plugins] (a [hook.Runner], and its Tools), [CheckSchema].
//
// Schemas are cached, so that opening a folder starts no process unless a file in it is
// new or has changed, or its schema has expired. Opening is cheap enough to be done for
// each turn.
//
// Who owns what: a [Plugins] owns no process beyond a call; each call owns its process
// group and ends it. With a terminal as stdin there is one goroutine that reads it; it
// ends with the input or the program.
//
// How it fails: a broken plugin never breaks the others. It is reported and left out; a
// failing call is a result that the model reads; a failing hook is reported and skipped,
// unless its schema says on_failure = block: then the error is of kind Denied.
package plugin
