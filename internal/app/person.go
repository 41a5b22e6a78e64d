package app

import "io"

// Person is the person a command talks to while it works.
type Person struct {
	Stdin   io.Reader // for plugins that ask; nil: nobody is there
	Stderr  io.Writer // for messages of plugins
	Warn    func(string)
	Verbose bool
}
