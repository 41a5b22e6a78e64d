// Package command is what all commands share: [Env] (the streams, the home, a
// client, words for the person), arguments, stopping, and the forms of an
// answer. It is no command itself.
//
// Read first: [Env], answer.go (the only file that writes to stdout), exit.go
// (which error gives which status). Errors are printed once, here.
package command
