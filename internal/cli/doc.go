// Package cli is the command line: it assembles the commands and decides who may
// run which. The path of a command is the path of its file: fika chat send is
// chat/send.go. A command without a verb has a package of its own name, or is in the
// package of related commands: fika up is hub/up.go. Each command turns flags into
// options, makes one call and shows the result; what they share is in package command.
//
// Read first: [Main] (a command line from start to exit status), table.go (all
// commands, and what each of them does, which decides whether an agent may run it).
// stdout carries the answer or the data and nothing else; messages for people go to
// stderr.
package cli
