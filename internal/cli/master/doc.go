// Package master is fika master: the console of package internal/terminal/master on the
// terminal of this process, or fed by a pipe.
//
// It decides nothing about requests: the console does. What the console needs this
// process for is in host.go: to work on a prompt here, to summarise, to start a hub.
//
// Read first: [New], [OpenConsole], screen.go.
package master
