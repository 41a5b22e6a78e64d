// Package run is fika run, which is also what fika does with a bare prompt: one
// prompt, answered in a context, by this process or by the one that holds the
// context.
//
// Read first: [Options], [Options.RunPrompt], view.go (what is shown meanwhile).
// The answer goes to stdout, everything else to stderr.
package run
