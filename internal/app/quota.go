package app

import (
	"fmt"
	"time"

	"fika"
	"fika/internal/term"
)

// QuotaUsedUp says that an agent has used up its hour; "" if it has not.
func QuotaUsedUp(row fika.Agent, now time.Time) string {
	if !row.QuotaUsedUp(now) {
		return ""
	}
	return fmt.Sprintf("@%s has used up its %s", row.Name, row.HeldReason)
}

// ResumesAt says when an agent that has used up its hour continues.
func ResumesAt(row fika.Agent, now time.Time) string {
	return fmt.Sprintf("goes on at %s (in %s)", row.HeldUntil.Local().Format("15:04"), term.Duration(row.HeldUntil.Sub(now).Round(time.Second)))
}

// QuotaHint says when an agent that has used up its hour will begin new work, for those
// who want something of it; "" if it has not.
func QuotaHint(row fika.Agent, now time.Time) string {
	why := QuotaUsedUp(row, now)
	if why == "" {
		return ""
	}
	return why + "; what waits for it " + ResumesAt(row, now)
}
