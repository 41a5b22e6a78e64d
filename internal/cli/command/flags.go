package command

import (
	"errors"
	"strconv"
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
	*n = most
	c.Flags().VarP((*bound)(n), "limit", "n", about)
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		for _, other := range also {
			if name == other {
				name = "limit"
			}
		}
		return pflag.NormalizedName(name)
	})
}

// bound is how much at most, as a flag; 0: all.
type bound int

func (b *bound) String() string { return strconv.Itoa(int(*b)) }

// Type implements pflag.Value.
func (b *bound) Type() string { return "int" }

// Set implements pflag.Value.
func (b *bound) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return errors.New("say how many, as a number; 0 is all")
	}
	*b = bound(n)
	return nil
}

// AtMost is the beginning of a list: as much of it as a --limit says; 0: all.
func AtMost[T any](list []T, limit int) []T {
	if limit <= 0 || limit >= len(list) {
		return list
	}
	return list[:limit]
}

// YesFlag adds the flag of those who do not want to be asked.
func YesFlag(c *cobra.Command, yes *bool, about string) {
	c.Flags().BoolVarP(yes, "yes", "y", false, about)
}

// JSONFlag adds the flag for programs.
func JSONFlag(c *cobra.Command, asJSON *bool) {
	c.Flags().BoolVar(asJSON, "json", false, "print JSON")
}
