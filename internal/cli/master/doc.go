// Package master is fika master: the console of package internal/master on the
// terminal of this process, or fed by a pipe.
//
// It decides nothing about requests; that is for the console. What the console
// cannot do by itself, because it needs this process, is host.go: a prompt that is
// worked here, a summary, a hub that is started.
//
// Read first: [New], [OpenConsole], screen.go.
package master
