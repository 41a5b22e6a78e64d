package command

import (
	"time"

	"github.com/spf13/cobra"
)

// WaitFlag adds the flag for those who wait for a context.
func WaitFlag(c *cobra.Command, d *time.Duration) {
	c.Flags().DurationVar(d, "wait", 0, "wait this long for a context that is in use")
}
