// Command types checks that the module's packages, with all that they import, have right
// types on another system, and names what has not: a build for it without its machine
// code, in a tenth of the time. Its argument is GOOS/GOARCH, as in darwin/arm64.
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "types:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	system, machine, ok := strings.Cut(strings.Join(args, " "), "/")
	if !ok {
		return fmt.Errorf("usage: types GOOS/GOARCH")
	}
	list, err := packages.Load(&packages.Config{
		Mode: packages.LoadAllSyntax, Env: append(os.Environ(), "GOOS="+system, "GOARCH="+machine, "CGO_ENABLED=0"),
	}, "./...")
	if err != nil {
		return err
	}
	if n := packages.PrintErrors(list); n > 0 || len(list) == 0 {
		return fmt.Errorf("%d errors in %d packages", n, len(list))
	}
	return nil
}
