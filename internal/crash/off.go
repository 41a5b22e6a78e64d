//go:build !chaos

package crash

import (
	"io"
	"time"
)

// Point is a moment at which a process may die: after what was written before
// it, before what comes next.
func Point(string) {}

// Committing and Committed are the points around the commit of a transaction.
func Committing(string) {}

// Committed is the point after a commit.
func Committed(string) {}

// Torn is a point in the middle of a write of data to w.
func Torn(string, io.Writer, []byte) {}

// Without reports whether a guard is to be left out: never.
func Without(Guard) bool { return false }

// Now is the time.
func Now() time.Time { return time.Now() }

// Pages bounds the database's file; 0: no bound.
func Pages() int { return 0 }

// Pace is how often something is looked at that nobody rang for.
func Pace(d time.Duration) time.Duration { return d }
