// Package cli is the command line: it puts the commands together, and decides who
// may run which. The path of a command is the path of its file: fika chat send is
// chat/send.go. A command without a verb has a package of its name, or stands with
// those of its kind: fika up is hub/up.go. Each turns flags into options, makes one
// call and shows what comes back; what they share is in package command.
//
// Read first: [Main] (a command line from start to status), table.go (all
// commands, and what each of them does, for those who may not do everything).
// stdout carries the answer or the data and nothing else; words for people go to
// stderr.
package cli
