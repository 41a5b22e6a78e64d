package command

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// WaitFlag adds the flag for those who wait for a context.
func WaitFlag(c *cobra.Command, d *time.Duration) {
	c.Flags().DurationVar(d, "wait", 0, "wait this long for a context that is in use")
}

// LimitFlag adds the flag that bounds how much is shown: --limit, -n, and the
// names that it is tried under.
func LimitFlag(c *cobra.Command, n *int, most int, about string, also ...string) {
	c.Flags().IntVarP(n, "limit", "n", most, about)
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		for _, other := range also {
			if name == other {
				name = "limit"
			}
		}
		return pflag.NormalizedName(name)
	})
}

// YesFlag adds the flag of those who do not want to be asked.
func YesFlag(c *cobra.Command, yes *bool, about string) {
	c.Flags().BoolVarP(yes, "yes", "y", false, about)
}

// JSONFlag adds the flag for programs.
func JSONFlag(c *cobra.Command, asJSON *bool) {
	c.Flags().BoolVar(asJSON, "json", false, "as JSON")
}
