package workflow

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/settings/toml"
	"fika/internal/system/term"
	"fika/internal/workflow"
)

// completeRuns completes the ids of the runs for which of returns true.
func completeRuns(e *command.Env, of func(service.Run) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		c, err := e.ServiceOffline(cmd.Context())
		if err != nil {
			return nil, complete.NoFiles
		}
		list, err := c.Runs().List(cmd.Context(), false, 100)
		if err != nil {
			return nil, complete.NoFiles
		}
		for _, r := range list {
			if of(r) {
				out = append(out, complete.WithAbout(string(r.ID), stateOf(r)+": "+r.Title))
			}
		}
		return out, complete.NoFiles
	}
}

func isGoing(r service.Run) bool { return !r.Over() }

func newStatus(e *command.Env) *cobra.Command {
	var asJSON, all bool
	var limit int
	c := &cobra.Command{
		Use: "status [RUN]", Short: "show the state of a run, or the runs under way", Args: command.AtMostOne("the id of a run"),
		Long: `Without RUN: the runs under way. With RUN: each step, who works on it and since
when, what it has used, and what it waits for. For a step that goes through a
list, only what is under way and what failed is shown; --all shows everything.`,
		Example:           "  fika workflow status\n  fika workflow status 01a1fd6e\n  fika workflow status 01a1fd6e --json",
		ValidArgsFunction: complete.FirstOnly(completeRuns(e, func(service.Run) bool { return true })),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return listRuns(cmd.Context(), e, c, true, limit, asJSON)
			}
			return showRun(cmd.Context(), e, c, args[0], asJSON, all)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON; for one run, with all its steps")
	c.Flags().BoolVar(&all, "all", false, "show every attempt at every item")
	command.LimitFlag(c, &limit, 200, "list at most this many runs")
	return c
}

// listRuns shows runs, newest first.
func listRuns(ctx context.Context, e *command.Env, c *service.Service, going bool, limit int, asJSON bool) error {
	list, err := c.Runs().List(ctx, going, limit)
	if err != nil {
		return err
	}
	if asJSON {
		return command.PrintLines(e, list, toRunJSON)
	}
	if len(list) == 0 {
		e.Say("no runs")
		return nil
	}
	if slices.ContainsFunc(list, isGoing) {
		e.WarnWithoutHub("nothing of this is at work now")
	}
	return e.Table([]string{"RUN", "WORKFLOW", "STATE", "AGE", "COST", "ABOUT"}, command.TableRows(list, func(r service.Run) []string {
		return []string{string(r.ID), command.OrDash(r.Name), stateOf(r), term.Ago(r.Begun, e.Now()), command.OrDash(money(r.Spent.Cost)), term.Truncate(term.CleanLine(r.Title), 60)}
	}))
}

func showRun(ctx context.Context, e *command.Env, c *service.Service, word string, asJSON, all bool) error {
	r, d, err := foundRun(ctx, c, word)
	if err != nil {
		return err
	}
	steps, err := c.Runs().Steps(ctx, r.ID)
	if err != nil {
		return err
	}
	if asJSON {
		type whole struct {
			runJSON
			Steps []stepJSON `json:"steps"`
		}
		j := whole{toRunJSON(r), []stepJSON{}}
		for _, s := range steps {
			j.Steps = append(j.Steps, toStepJSON(s))
		}
		return e.PrintJSON(j)
	}
	printRun(e, r, d, steps)
	if !r.Over() {
		e.WarnWithoutHub("nothing of this is at work now")
		for _, why := range c.Runs().HinderedAgents(ctx, steps) {
			e.WarnStatus(why)
		}
	}
	var rows [][]string
	for _, s := range steps {
		if all || shown(s) {
			rows = append(rows, stepRow(s, e.Now()))
		}
	}
	if len(rows) == 0 {
		return e.CheckWritten("")
	}
	return e.Table([]string{"STEP", "STATE", "WHO", "TIME", "TOKENS", "COST", "WHAT"}, rows)
}

// shown reports whether a step is worth a line: the live rows of the run's own steps,
// and of the steps inside them those that are under way or have failed.
func shown(s service.RunStep) bool {
	if s.Parent == "" {
		return s.Live
	}
	return !s.State.Ended() || s.State == workflow.Failed
}

func printRun(e *command.Env, r service.Run, d *workflow.Definition, steps []service.RunStep) {
	p := func(k, v string) {
		if v != "" {
			_ = e.Printf("%-13s %s\n", k, term.Clean(v))
		}
	}
	spent := workflow.Spent{}
	for _, s := range steps {
		spent.Turns, spent.Tokens, spent.Cost = spent.Turns+s.Usage.Turns, spent.Tokens+s.Usage.Tokens, spent.Cost+s.Usage.Cost
	}
	p("run", string(r.ID))
	p("workflow", r.Name)
	p("about", r.Title)
	p("state", stateLine(r, e.Now()))
	p("steps", fmt.Sprintf("%d of %d ended", endedSteps(steps), len(d.Steps)))
	p("begun", r.Begun.Local().Format(time.DateTime)+" by "+r.From)
	if r.Over() {
		p("took", term.Duration(r.Ended.Sub(r.Begun)))
	}
	used := fmt.Sprintf("%s, %s tokens", command.Plural(spent.Turns, "turn"), term.ShortCount(spent.Tokens))
	if m := money(spent.Cost); m != "" {
		used += ", " + m
	}
	p("used", used)
	if r.Result != nil {
		p("limit", r.Result.Limit)
	}
	p("error", r.Outcome.Error)
	_ = e.Printf("\n")
}

func stateLine(r service.Run, now time.Time) string {
	switch state := stateOf(r); state {
	case "paused":
		return "paused " + term.Ago(r.Paused, now) + " (fika workflow resume " + string(r.ID) + ")"
	case string(fika.RequestFailed), string(fika.Cancelled):
		return state + " (fika workflow resume " + string(r.ID) + " continues where it stopped)"
	default:
		return state
	}
}

func stepRow(s service.RunStep, now time.Time) []string {
	who := ""
	switch {
	case s.Agent != "":
		who = s.Who()
	case s.Conversation != "":
		who = string(s.Conversation)
	case s.Approval > 0:
		who = "you"
	}
	took := term.Duration(max(0, now.Sub(s.Begun)))
	if s.State.Ended() {
		took = term.Duration(max(0, s.Ended.Sub(s.Begun)))
	}
	tokens := ""
	if s.Usage.Tokens > 0 {
		tokens = term.ShortCount(s.Usage.Tokens)
	}
	path := s.Path
	if s.Attempt > 1 {
		path += fmt.Sprintf(" (attempt %d)", s.Attempt)
	}
	return []string{path, string(s.State), command.OrDash(who), took, command.OrDash(tokens), command.OrDash(money(s.Usage.Cost)), term.Truncate(term.CleanLine(whatOf(s)), 60)}
}

// whatOf returns what else there is to know about a step.
func whatOf(s service.RunStep) string {
	switch {
	case s.Approval > 0:
		return fmt.Sprintf("fika approve %d", s.Approval)
	case s.Kind == workflow.KindEach:
		return strings.TrimSpace(fmt.Sprintf("%d of %d items done, %d failed. %s", s.Done, s.Count, s.Failed, s.Error))
	case s.State == workflow.Waiting && !s.NotBefore.IsZero():
		return "again at " + s.NotBefore.Local().Format("15:04:05")
	}
	return s.Error
}

func newOutput(e *command.Env) *cobra.Command {
	var asJSON, raw bool
	c := &cobra.Command{
		Use: "output RUN [STEP]", Short: "print the whole result of a run, or of one of its steps", Args: runAndStep,
		Long:              "Prints the result of a run. With STEP, named as in fika workflow status: the\nwhole result of that step, however long; for a step that went through a list,\none item after the other.",
		Example:           "  fika workflow output 01a1fd6e\n  fika workflow output 01a1fd6e research\n  fika workflow output 01a1fd6e 'files[17]'",
		ValidArgsFunction: complete.FirstOnly(completeRuns(e, func(service.Run) bool { return true })),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := e.Service(ctx)
			if err != nil {
				return err
			}
			r, err := c.Runs().Find(ctx, args[0])
			if err != nil {
				return err
			}
			texts := []string{r.Outcome.Answer}
			if len(args) == 2 {
				if texts, err = stepOutput(ctx, c, r, args[1]); err != nil {
					return err
				}
			} else if !r.Over() {
				return fika.Errorf(fika.Conflict, "", "run %s is not over: fika workflow wait %s", r.ID, r.ID)
			}
			if asJSON {
				return e.PrintJSON(texts)
			}
			for _, text := range texts {
				if err := e.AnswerText(text, raw); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a list of texts as JSON")
	command.RawFlag(c, &raw)
	return c
}

func runAndStep(cmd *cobra.Command, args []string) error {
	if len(args) < 1 || len(args) > 2 {
		return command.UsageError("%s takes the id of a run and the name of a step, but got %s; see %s --help", cmd.CommandPath(), command.CountedArgs(len(args)), cmd.CommandPath())
	}
	return nil
}

// stepOutput returns the output of the last attempt at a step.
func stepOutput(ctx context.Context, c *service.Service, r service.Run, path string) ([]string, error) {
	steps, err := c.Runs().Steps(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	var last *service.RunStep
	var paths []string
	for i, s := range steps {
		paths = append(paths, s.Path)
		if s.Path == path && (last == nil || s.Attempt > last.Attempt) {
			last = &steps[i]
		}
	}
	if last == nil {
		return nil, fika.Errorf(fika.NotFound, "", "run %s has no step %q%s", r.ID, path, toml.NearestHint(path, paths))
	}
	return c.Runs().Output(ctx, *last)
}
