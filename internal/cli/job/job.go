package job

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/text/hint"
)

// New returns the command fika job.
func New(e *command.Env) *cobra.Command {
	return command.Group("job", "list, read and end background commands",
		`An agent starts a command in the background with its tool bash, a server for
example, and works on beside it. Such a job runs in the process of its agent: it
ends when the agent stops, when its chat is stopped or deleted, and after eight
hours.`, "  fika agent job list\n  fika agent job logs 3\n  fika agent job end 3",
		newList(e), newShow(e), newLogs(e), newEnd(e))
}

// jobJSON is a job, as --json prints it.
type jobJSON struct {
	Number       int64            `json:"number"`
	Agent        fika.AgentName   `json:"agent"`
	Conversation string           `json:"conversation"`
	Request      string           `json:"request"`
	Command      string           `json:"command"`
	Description  string           `json:"description"`
	Folder       string           `json:"folder"`
	Sandbox      string           `json:"sandbox"`
	State        fika.JobState    `json:"state"`
	Ending       bool             `json:"ending"`
	ExitCode     *int             `json:"exit_code"` // null: it did not end by itself, or not yet
	Reason       command.Nullable `json:"reason"`
	PID          *int             `json:"pid"`
	Started      *time.Time       `json:"started"`
	Ended        *time.Time       `json:"ended"`
}

func toJSON(j service.Job) jobJSON {
	out := jobJSON{
		Number: j.N, Agent: j.AgentName, Conversation: string(j.In), Request: string(j.Request), Command: j.Command, Description: j.Description,
		Folder: j.Dir, Sandbox: j.Profile, State: j.State, Ending: j.Ending, Reason: command.Nullable(j.Reason),
		Started: command.JSONTime(j.Started), Ended: command.JSONTime(j.Ended),
	}
	if j.State == fika.JobEnded {
		out.ExitCode = &j.ExitCode
	}
	if j.State == fika.JobRunning && j.Proc.PID != 0 {
		out.PID = &j.Proc.PID
	}
	return out
}

// numberOf reads the number of a job.
func numberOf(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fika.WithHint(command.UsageError("%q is not the number of a job", text), hint.JobList)
	}
	return n, nil
}

// offerNumbers completes the numbers of jobs; running ones alone if running is set.
func offerNumbers(e *command.Env, running bool) cobra.CompletionFunc {
	return complete.FirstOnly(func(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		c, err := e.Service(cmd.Context())
		if err != nil {
			return nil, complete.NoFiles
		}
		list, err := c.Jobs().List(cmd.Context(), service.JobFilter{Running: running, Limit: 50})
		if err != nil {
			return nil, complete.NoFiles
		}
		for _, j := range list {
			out = append(out, complete.WithAbout(strconv.FormatInt(j.N, 10), "@"+string(j.AgentName)+": "+term.CleanLine(j.Command)))
		}
		return out, complete.NoFiles
	})
}
