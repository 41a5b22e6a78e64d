package app

import "io"

// Person is who a command talks with while it works.
type Person struct {
	Stdin   io.Reader // for plugins that ask; nil: nobody is there
	Stderr  io.Writer // what plugins say
	Warn    func(string)
	Verbose bool
}
