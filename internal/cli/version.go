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
	return &cobra.Command{
		Use: "version", Short: "print the version", Example: "  fika version", Args: command.Exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error { return printVersion(e) },
	}
}

// printVersion prints the version of this program and what it was built with.
func printVersion(e *command.Env) error {
	v := version
	if info, ok := debug.ReadBuildInfo(); ok && v == "dev" && info.Main.Version != "" {
		v = info.Main.Version
	}
	return e.Printf("fika %s (%s %s/%s)\n", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
