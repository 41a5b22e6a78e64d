package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

// version is set when a release is built.
var version = "dev"

func newVersion(e *command.Env) *cobra.Command {
	return command.Show(e, "version", "print the version", "  fika version", func() (string, any, error) {
		return versionLine(), versionJSON{builtVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH}, nil
	})
}

type versionJSON struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// builtVersion returns the version of this program.
func builtVersion() string {
	v := version
	if info, ok := debug.ReadBuildInfo(); ok && v == "dev" && info.Main.Version != "" {
		v = info.Main.Version
	}
	return v
}

// versionLine returns the version of this program and what it was built with.
func versionLine() string {
	return fmt.Sprintf("fika %s (%s %s/%s)", builtVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
