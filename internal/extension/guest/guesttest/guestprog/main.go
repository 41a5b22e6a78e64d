// Command guestprog is the agent program of package guesttest as a program, for tries by hand.
package main

import (
	"os"
	"strings"

	"fika/internal/extension/guest/guesttest"
)

func main() { os.Exit(guesttest.Serve(strings.Join(os.Args[1:], " "))) }
