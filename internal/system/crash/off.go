//go:build !chaos

package crash

import (
	"io"
	"time"
)

// Point is a moment at which a process may die: after what was written before it,
// before whatever comes next.
func Point(string) {}

// Committing is the point before the commit of a transaction.
func Committing(string) {}

// Committed is the point after a commit.
func Committed(string) {}

// Torn is a point in the middle of a write of data to w.
func Torn(string, io.Writer, []byte) {}

// Without reports whether a guard is to be left out: never in this build.
func Without(Guard) bool { return false }

// Now returns the time.
func Now() time.Time { return time.Now() }

// Skew returns by how much the clock of this machine is wrong, as far as a harness says so: not
// at all.
func Skew() time.Duration { return 0 }

// Pages returns the maximum size of the database file in pages; 0 means no limit.
func Pages() int { return 0 }

// Pace returns how often to check for work whose wake-up was lost: every d.
func Pace(d time.Duration) time.Duration { return d }
