package workflow

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/workflow"
)

// runOptions are the flags of run, resume and wait.
type runOptions struct {
	*command.Env
	inputs  []string
	noWait  bool
	timeout time.Duration
	json    bool
	raw     bool
}

func (o *runOptions) waitFlags(c *cobra.Command) {
	f := c.Flags()
	f.DurationVar(&o.timeout, "timeout", 0, "stop waiting after this long (the run continues)")
	f.BoolVar(&o.json, "json", false, "print one JSON object at the end")
	command.RawFlag(c, &o.raw)
}

func newRun(e *command.Env) *cobra.Command {
	o := &runOptions{Env: e}
	c := &cobra.Command{
		Use: "run NAME|FILE", Short: "run a workflow", Args: command.Exactly(1, "the name of a workflow, or a file"),
		Long: `Runs a workflow and prints its result. Progress goes to stderr. A run is kept in
the store from its first moment: it continues when this command, an agent or the
hub ends, and when everything was killed and starts again. Ctrl-C only stops
waiting; fika workflow cancel ends the run.

An input is NAME=VALUE, or NAME=@FILE for the contents of a file.

` + command.ExitHelp,
		Example:           "  fika workflow run tandem -i goal=\"a logo for the shop\"\n  fika workflow run review -i work=@patch.diff --no-wait",
		ValidArgsFunction: complete.FirstOnly(complete.WorkflowsOrFiles(e)),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	c.Flags().StringArrayVarP(&o.inputs, "input", "i", nil, "input as NAME=VALUE or NAME=@FILE (repeat for several)")
	c.Flags().BoolVar(&o.noWait, "no-wait", false, "print the id of the run and return")
	o.waitFlags(c)
	_ = c.RegisterFlagCompletionFunc("input", func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return inputsOf(e, args), complete.NoFiles | cobra.ShellCompDirectiveNoSpace
	})
	return c
}

// inputsOf completes the inputs of the workflow that args names.
func inputsOf(e *command.Env, args []string) (out []cobra.Completion) {
	if len(args) != 1 {
		return nil
	}
	d, err := load(e, args[0])
	if err != nil {
		return nil
	}
	for _, in := range d.Inputs {
		out = append(out, complete.WithAbout(in.Name+"=", in.Description))
	}
	return out
}

func (o *runOptions) run(ctx context.Context, word string) error {
	if o.timeout < 0 {
		return command.UsageError("--timeout is a span of time such as 10m, not %s", o.timeout)
	}
	given, err := readInputs(o.inputs)
	if err != nil {
		return err
	}
	d, err := load(o.Env, word)
	if err != nil {
		return err
	}
	all, err := o.Workflows()
	if err != nil {
		return err
	}
	if _, err := d.Bind(given, all.Agents()); err != nil { // before a hub is started for nothing
		return err
	}
	c, err := o.ServiceWithHub(ctx)
	if err != nil {
		return err
	}
	r, err := c.Runs().Start(ctx, d, given)
	if err != nil {
		return err
	}
	if o.noWait {
		return o.begun(r)
	}
	o.Say("run %s of %s", r.ID, d.Name)
	return o.await(ctx, c, r.ID, d)
}

// begun prints a run that this command does not wait for.
func (o *runOptions) begun(r service.Run) error {
	if o.json {
		return printAsJSON(o.Env, true, r)
	}
	return o.Println(r.ID)
}

// readInputs parses NAME=VALUE, and reads the file of NAME=@FILE.
func readInputs(list []string) (map[string]string, error) {
	given := map[string]string{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, command.UsageError("-i takes NAME=VALUE, not %q", text)
		}
		if _, twice := given[name]; twice {
			return nil, command.UsageError("the input %s is given twice", name)
		}
		if file, isFile := strings.CutPrefix(value, "@"); isFile && looksLikeFile(file) {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, fika.Errorf(fika.NotFound, "", "the input %s: %v", name, err)
			}
			value = string(data)
		}
		given[name] = value
	}
	return given, nil
}

// looksLikeFile reports whether the word after @ names a file rather than an agent:
// @coder is an agent, @./coder is a file.
func looksLikeFile(word string) bool {
	if strings.ContainsAny(word, `/.`) {
		return true
	}
	_, err := fika.ParseAgentName(word)
	return err != nil && word != ""
}

// await shows a run until it is over, and prints its result. If ctx ends or the timeout
// passes first, it fails with Detached, and the run goes on.
func (o *runOptions) await(ctx context.Context, c *service.Service, id fika.RequestID, d *workflow.Definition) error {
	waiting, cancel := context.WithCancel(ctx)
	if o.timeout > 0 {
		waiting, cancel = context.WithTimeout(ctx, o.timeout)
	}
	defer cancel()
	show := newProgress(o.Env, len(d.Steps))
	r, err := c.Runs().Await(waiting, id, show.Show, o.WarnStatus)
	if waiting.Err() != nil {
		return fika.Errorf(fika.Detached, "", "you stopped waiting; the run continues: fika workflow wait %s, fika workflow cancel %s", id, id)
	}
	if err != nil {
		return err
	}
	return o.end(r)
}

// end prints the result of a run, and returns an error if the run is not done.
func (o *runOptions) end(r service.Run) error {
	switch {
	case o.json:
		_ = o.PrintLine(toRunJSON(r))
	case r.Outcome.Answer != "":
		_ = o.AnswerText(r.Outcome.Answer, o.raw)
	}
	if err := o.CheckWritten(fmt.Sprintf("it is kept: fika workflow wait %s", r.ID)); err != nil && r.State == fika.Done {
		return err
	}
	return outcomeOf(r)
}

// foundRun returns the run that a person names, and its definition.
func foundRun(ctx context.Context, c *service.Service, word string) (service.Run, *workflow.Definition, error) {
	r, err := c.Runs().Find(ctx, word)
	if err != nil {
		return r, nil, err
	}
	d, err := c.Runs().Definition(ctx, r.ID)
	return r, d, err
}

func newWait(e *command.Env) *cobra.Command {
	o := &runOptions{Env: e}
	c := &cobra.Command{
		Use: "wait RUN", Short: "wait for a run and print its result", Args: command.Exactly(1, "the id of a run"),
		Long:              "Waits for a run and prints its result, as fika workflow run does. Ctrl-C stops\nwaiting; the run continues.\n\n" + command.ExitHelp,
		Example:           "  fika workflow wait $(fika workflow run tandem -i goal=\"a logo\" --no-wait)",
		ValidArgsFunction: complete.FirstOnly(completeRuns(e, func(service.Run) bool { return true })),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			r, d, err := foundRun(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			return o.await(cmd.Context(), c, r.ID, d)
		},
	}
	o.waitFlags(c)
	return c
}

func newResume(e *command.Env) *cobra.Command {
	o := &runOptions{Env: e}
	var from string
	var newDefinition bool
	c := &cobra.Command{
		Use: "resume RUN", Short: "resume a run that is paused, has failed or was cancelled", Args: command.Exactly(1, "the id of a run"),
		Long: `A paused run continues where it was. A run that is over continues with what is
not done; what is done stays. With --from, a step is done again, and so is every
step that needs it.

If the file of the workflow has changed since the run began, say which version
to use: --new-definition uses the new one, and shows how it differs;
--old-definition continues with the one that the run began with.

` + command.ExitHelp,
		Example:           "  fika workflow resume 01a1fd6e\n  fika workflow resume 01a1fd6e --from test --no-wait",
		ValidArgsFunction: complete.FirstOnly(completeRuns(e, func(r service.Run) bool { return r.Over() && r.State != fika.Done || !r.Paused.IsZero() })),
	}
	var oldDefinition bool
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if oldDefinition && newDefinition {
			return command.UsageError("--new-definition and --old-definition cannot be used together")
		}
		return o.resume(cmd.Context(), args[0], from, newDefinition, oldDefinition)
	}
	c.Flags().StringVar(&from, "from", "", "do this step again, and every step that needs it")
	c.Flags().BoolVar(&newDefinition, "new-definition", false, "use the workflow as its file is now")
	c.Flags().BoolVar(&oldDefinition, "old-definition", false, "use the workflow as it was when the run began")
	c.Flags().BoolVar(&o.noWait, "no-wait", false, "print the id of the run and return")
	o.waitFlags(c)
	_ = c.RegisterFlagCompletionFunc("from", func(cmd *cobra.Command, args []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(args) != 1 {
			return nil, complete.NoFiles
		}
		c, err := e.ServiceOffline(cmd.Context())
		if err != nil {
			return nil, complete.NoFiles
		}
		_, d, err := foundRun(cmd.Context(), c, args[0])
		if err != nil {
			return nil, complete.NoFiles
		}
		for i := range d.Steps {
			out = append(out, d.Steps[i].ID)
		}
		return out, complete.NoFiles
	})
	return c
}

func (o *runOptions) resume(ctx context.Context, word, from string, changed, unchanged bool) error {
	c, err := o.ServiceFor(ctx, func(c *service.Service) error {
		_, err := c.Runs().Find(ctx, word)
		return err
	})
	if err != nil {
		return err
	}
	r, d, err := foundRun(ctx, c, word)
	if err != nil {
		return err
	}
	if !r.Over() {
		if r.Paused.IsZero() {
			return fika.Errorf(fika.Conflict, "", "run %s is %s already: fika workflow wait %s", r.ID, stateOf(r), r.ID)
		}
		if from != "" || changed {
			return fika.Errorf(fika.Conflict, "", "run %s is only paused: cancel it first if a step is to be done again", r.ID)
		}
		if r, err = c.Runs().Continue(ctx, r.ID); err != nil {
			return err
		}
		return o.follow(ctx, c, r, d)
	}
	var with *workflow.Definition
	if !unchanged {
		if with, err = o.newDefinition(ctx, c, r, changed); err != nil {
			return err
		}
	}
	if r, err = c.Runs().Resume(ctx, r, with, from); err != nil {
		return err
	}
	if with != nil {
		d = with
	}
	return o.follow(ctx, c, r, d)
}

// newDefinition returns the definition with which a run goes on instead of its own, nil
// if the file has not changed. If it has, and wanted is false, it fails with Conflict.
func (o *runOptions) newDefinition(ctx context.Context, c *service.Service, r service.Run, wanted bool) (*workflow.Definition, error) {
	now, diff, err := c.Runs().FileChanges(ctx, r)
	if err != nil || len(diff) == 0 {
		return nil, err
	}
	if !wanted {
		return nil, fika.Errorf(fika.Conflict, "", "%s has changed since run %s began (%s): --new-definition continues with it as it is now and shows the difference, --old-definition as it was", now.File, r.ID, command.Plural(countChanges(diff), "line"))
	}
	for _, line := range diff {
		o.Say("%s", line)
	}
	return now, nil
}

func countChanges(diff []string) int {
	return len(slices.DeleteFunc(slices.Clone(diff), func(l string) bool { return strings.HasPrefix(l, "# ") }))
}

// follow waits for a run that goes on, unless --no-wait is set.
func (o *runOptions) follow(ctx context.Context, c *service.Service, r service.Run, d *workflow.Definition) error {
	if o.noWait {
		return o.begun(r)
	}
	o.Say("run %s continues", r.ID)
	return o.await(ctx, c, r.ID, d)
}
