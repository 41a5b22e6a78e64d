// Package cli is the command line: one file per noun, each turning flags into
// options and making one call.
//
// Read first: [Main] (a command line from start to exit code), env (what every
// command gets), exit.go (which error gives which code). stdout carries the
// answer or the data and nothing else; words for people go to stderr. Errors
// are printed once, here.
package cli
