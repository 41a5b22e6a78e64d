package page

import (
	"fmt"

	"fika"
	"fika/internal/service"
)

// JobState returns how a background command stands, in a word or two.
func JobState(j service.Job) string {
	switch {
	case j.State == fika.JobRunning && j.Ending:
		return "ending"
	case j.State == fika.JobEnded:
		return fmt.Sprintf("exit %d", j.ExitCode)
	}
	return string(j.State)
}
