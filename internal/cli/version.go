package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set when a release is built.
var version = "dev"

func newVersion(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "print the version", Example: "  fika version", Args: exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			v := version
			if info, ok := debug.ReadBuildInfo(); ok && v == "dev" && info.Main.Version != "" {
				v = info.Main.Version
			}
			_, err := fmt.Fprintf(e.Out, "fika %s (%s %s/%s)\n", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
