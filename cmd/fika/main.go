// Command fika runs language-model agents: one-shot prompts, a hub with one process per
// agent, and chats among agents.
package main

import (
	"os"

	"fika/internal/cli"
	"fika/internal/extension/guest"
	"fika/internal/system/process"
	"fika/internal/system/term"
	"fika/internal/tool/asuser"
)

func main() {
	if asuser.Serves(os.Args[1:]) {
		os.Exit(asuser.Serve(os.Stdin, os.Stdout))
	}
	if process.IsWatchdog(os.Args[1:]) {
		os.Exit(process.Watch())
	}
	if guest.Bridges(os.Args[1:]) {
		os.Exit(guest.Bridge(os.Args[3], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(cli.Main(os.Args[1:], term.SystemStreams(), os.Getenv))
}
