package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

// version is set when a release is built.
var version = "dev"

func newVersion(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "version", Short: "print the version", Example: "  fika version", Args: command.Exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return e.PrintLine(versionJSON{builtVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH})
			}
			return printVersion(e)
		},
	}
	command.JSONFlag(c, &asJSON)
	return c
}

type versionJSON struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// builtVersion is the version of this program.
func builtVersion() string {
	v := version
	if info, ok := debug.ReadBuildInfo(); ok && v == "dev" && info.Main.Version != "" {
		v = info.Main.Version
	}
	return v
}

// printVersion prints the version of this program and what it was built with.
func printVersion(e *command.Env) error {
	return e.Printf("fika %s (%s %s/%s)\n", builtVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
