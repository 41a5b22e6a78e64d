package command

import (
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// WaitFlag adds --wait, which waits for a context in use.
func WaitFlag(c *cobra.Command, d *time.Duration) {
	c.Flags().DurationVar(d, "wait", 0, "wait this long for a context that is in use")
}

// LimitFlag adds --limit, which bounds how much is shown, with -n and the other
// names that people try.
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

// bound is the value of a --limit; 0: no limit.
type bound int

func (b *bound) String() string { return strconv.Itoa(int(*b)) }

// Type implements pflag.Value.
func (b *bound) Type() string { return "int" }

// Set implements pflag.Value.
func (b *bound) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return errors.New("expected a number; 0 is all")
	}
	*b = bound(n)
	return nil
}

// AtMost returns the first elements of a list, as many as --limit allows; 0: all.
func AtMost[T any](list []T, limit int) []T {
	if limit <= 0 || limit >= len(list) {
		return list
	}
	return list[:limit]
}

// KeyFlag adds --key, which names what a command writes: see [api.Write].
func KeyFlag(c *cobra.Command, e *Env) {
	c.Flags().StringVar(&e.Key, "key", "", "name of this write: repeated with the same key, it takes effect once and prints the same ids")
}

// YesFlag adds --yes, which answers questions in advance.
func YesFlag(c *cobra.Command, yes *bool, about string) {
	c.Flags().BoolVarP(yes, "yes", "y", false, about)
}

// AcceptYes adds --yes to a command that asks nothing, so that scripts may give it to every
// command that removes something. It returns c.
func AcceptYes(c *cobra.Command) *cobra.Command {
	c.Flags().BoolP("yes", "y", false, "accepted for scripts; nothing is asked")
	return c
}

// JSONFlag adds --json, for programs.
func JSONFlag(c *cobra.Command, asJSON *bool) {
	c.Flags().BoolVar(asJSON, "json", false, "print JSON")
}
