// Package command holds what all commands share: [Env] (the streams, the home, a
// service, messages for the person), arguments, stopping, and the forms of an answer.
// It is not a command itself.
//
// Read first: [Env], answer.go (the only file that writes to stdout), exit.go
// (which error gives which exit status). Errors are printed once, here.
package command
