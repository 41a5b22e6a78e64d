package run

import (
	"context"
	"errors"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/approve"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/settings/folder"
	"fika/internal/turn"
	"fika/internal/worker"
)

// Options are the flags of a one-shot prompt.
type Options struct {
	*command.Env
	context      string
	model        string
	username     string
	tempUsername string
	print        bool // a prompt and nothing else was meant
	verbose      bool
	json         bool
	format       string
	cont         bool
	wait         time.Duration
	noReflection bool
	showThinking bool
	raw          bool
	files        command.NamedFiles
	pictures     []fika.Attachment
}

// New makes fika run.
func New(e *command.Env) *cobra.Command {
	o := &Options{Env: e}
	c := &cobra.Command{
		Use:   "run [PROMPT...]",
		Short: "answer one prompt in a context",
		Long: `Answers one prompt in a context: the current one, or the one named with -c.
Arguments are joined by spaces; piped input is the prompt, or follows it after a
blank line. On a terminal, with neither, type the prompt and end it with a line
that holds a single dot, or with ctrl-D.

--file and --image attach files; @name and @path in a prompt are plain text.

The answer goes to stdout, everything else to stderr.

` + command.ExitHelp,
		Example: `  fika run explain the borrow checker
  git diff | fika run -c review "is this safe?"
  fika run --output-format stream-json list the files here
  fika run --file cart.go --image screen.png "why is the sum cut off?"
  fika run --continue`,
		Args: cobra.ArbitraryArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error { return o.RunPrompt(cmd.Context(), args) },
	}
	o.AddFlags(c)
	return c
}

// AddFlags adds the flags of a one-shot prompt to a command.
func (o *Options) AddFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&o.context, "context", "c", "", "context for this prompt only")
	f.StringVarP(&o.model, "model", "m", "", "model for this prompt only (id or nickname)")
	f.StringVarP(&o.username, "username", "u", "", "your username in this context, kept in its local.toml")
	f.StringVarP(&o.tempUsername, "temp-username", "U", "", "your username for this prompt only")
	f.BoolVarP(&o.print, "print", "p", false, "answer this prompt, print the answer and end: all words are the prompt")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "report on stderr what happens")
	f.BoolVar(&o.json, "json", false, "print one JSON object at the end (as --output-format json)")
	f.StringVar(&o.format, "output-format", "text", "text, json or stream-json")
	f.BoolVar(&o.cont, "continue", false, "continue the interrupted prompt of the context")
	f.DurationVar(&o.wait, "wait", 0, "wait this long for a context that is in use")
	f.BoolVarP(&o.noReflection, "no-reflection", "x", false, "leave out the reflection, both text and tool")
	f.BoolVar(&o.showThinking, "show-thinking", false, "show the model's reasoning on stderr")
	command.RawFlag(c, &o.raw)
	o.files.Flags(c)
	_ = c.RegisterFlagCompletionFunc("context", complete.ContextNames(o.Env))
	_ = c.RegisterFlagCompletionFunc("model", complete.ModelNames(o.Env))
	_ = c.RegisterFlagCompletionFunc("output-format", cobra.FixedCompletions([]string{"text", "json", "stream-json"}, cobra.ShellCompDirectiveNoFileComp))
}

// MeansPrompt reports whether the flags say that all words are a prompt.
func (o *Options) MeansPrompt() bool { return o.print }

// RunPrompt answers the prompt that comes from args, standard input or the person at
// the terminal.
func (o *Options) RunPrompt(ctx context.Context, args []string) error {
	if o.Getenv("GOGC") == "" {
		// A prompt usually ends before it has used 8 MB. Collecting garbage at 4 MB made a
		// prompt with a hundred tools a tenth slower, for memory that is freed anyway.
		debug.SetGCPercent(200)
	}
	if o.json {
		o.format = "json"
	}
	if o.format != "text" && o.format != "json" && o.format != "stream-json" {
		return command.UsageError("--output-format is text, json or stream-json, not %q", o.format)
	}
	name, current, err := o.contextName()
	if err != nil {
		return err
	}
	switch {
	case o.cont && len(args) > 0:
		return command.UsageError("--continue takes no prompt: it continues with the interrupted one")
	case !o.cont && o.InTTY && len(args) == 0:
		if err := o.checkBeforeTyping(name); err != nil {
			return err
		}
	}
	input := sync.OnceValues(func() (string, error) { return o.readInput(name, args) })
	o.hintSpelling(name)
	flags, err := o.settings(ctx, name)
	if err != nil {
		return err
	}
	view := newRunView(o)
	defer view.shown.Finish()
	who, err := o.Principal()
	if err != nil {
		return err
	}
	ro := worker.RunOptions{
		Who: who, Context: name, From: current, Flags: flags, Verbose: o.verbose, Continue: o.cont, NoReflection: o.noReflection,
		Stdin: o.terminal(), Stderr: o.Err, Observer: view, Warn: o.Warn,
		Input: func() (string, []fika.Attachment, error) {
			prompt, err := input()
			return prompt, o.pictures, err
		},
	}
	desk := service.DeskOf(func(ctx context.Context) (*service.Service, error) { return service.Open(ctx, o.App(), who) })
	ro.Board, ro.Landing, ro.Workflows = desk, desk, desk
	if o.InTTY {
		ro.Ask = func(ctx context.Context, q turn.Question, listen func() (io.Reader, error)) error {
			return approve.AskAtTerminal(ctx, o.Env, q, listen)
		}
	}
	ran, err := worker.Run(ctx, o.App(), ro)
	var held *folder.HeldError
	if o.wait > 0 && errors.As(err, &held) && held.Info.Kind != folder.LockAgent {
		ro.Wait = o.wait // the agent's process is given the prompt instead
		o.Say("%s; waiting up to %s for it (Ctrl-C to stop waiting)", held, o.wait)
		ran, err = worker.Run(ctx, o.App(), ro)
	}
	if ran.Request != "" {
		o.Typed = ""
	}
	if held != nil && ctx.Err() != nil {
		return fika.Errorf(fika.Interrupted, "", "you stopped waiting for context %q; nothing was asked", name)
	}
	if errors.As(err, &held) && held.Info.Kind == folder.LockAgent && ran.Request == "" {
		view.shown.Finish()
		prompt, err := input()
		if err != nil {
			return err
		}
		return o.askHolder(ctx, name, prompt, flags)
	}
	return view.end(ran, command.HeldHint(err))
}

// readInput returns the prompt, with the files that were named, and sets o.pictures;
// nothing with --continue.
func (o *Options) readInput(name fika.AgentName, args []string) (prompt string, err error) {
	if o.cont {
		return "", nil
	}
	if prompt, err = o.ReadPrompt("fika run -c "+string(name), args); err != nil {
		return "", err
	}
	prompt, o.pictures, err = o.AttachFiles(o.files, prompt)
	return prompt, err
}

// checkBeforeTyping refuses, before a person types a prompt for it, a context that
// another prompt holds, or one without a model.
func (o *Options) checkBeforeTyping(name fika.AgentName) error {
	h, err := o.App().Home()
	if err != nil {
		return err
	}
	flags := map[string]string{}
	if o.model != "" {
		flags["model"] = o.model
	}
	if _, err := o.App().Settings(name, flags, false); err != nil || o.wait > 0 {
		return err
	}
	lock, err := h.Folder(name).Inspect()
	if err != nil || !lock.Held || lock.Info.Kind == folder.LockAgent {
		return nil // acquiring it says what is wrong
	}
	held := &folder.HeldError{Name: name, Info: lock.Info, Age: lock.Age, Stale: lock.Status == folder.LockStale}
	return command.HeldHint(fika.Wrap(fika.Locked, "", held))
}

// contextName returns the context of this prompt, and the current one.
func (o *Options) contextName() (name, current fika.AgentName, err error) {
	if o.context == "" {
		name, err = o.CurrentContext()
		return name, name, err
	}
	if name, err = fika.ParseAgentName(o.context); err != nil {
		return "", "", err
	}
	// A broken state.json is no reason to refuse a prompt that does not need it.
	current, _ = o.CurrentContext()
	return name, current, o.App().PoolRefusal(name)
}

// hintSpelling tells the person if -c is about to make a context whose name is similar
// to that of another one.
func (o *Options) hintSpelling(name fika.AgentName) {
	h, err := o.App().Home()
	if err != nil || o.context == "" {
		return
	}
	if _, err := folder.OpenFolder(h, name); err == nil {
		return
	}
	if near := o.NearContext(h, name); near != "" {
		o.Say("context %q is new (there is also %q)", name, near)
	} else if o.ErrTTY {
		o.Say("context %q is new", name)
	}
}

// settings returns the flags that override settings; it writes -u to the context's
// local.toml.
func (o *Options) settings(ctx context.Context, name fika.AgentName) (map[string]string, error) {
	flags := map[string]string{}
	if o.model != "" {
		flags["model"] = o.model
	}
	if o.username != "" {
		if err := service.SetUsername(ctx, o.App(), name, o.username); err != nil {
			return nil, err
		}
	}
	if o.tempUsername != "" {
		user, err := fika.ParseUsername(o.tempUsername)
		if err != nil {
			return nil, err
		}
		flags["username"] = user
	}
	return flags, nil
}

// terminal returns where plugins may read the person's answers; nil: no terminal.
func (o *Options) terminal() io.Reader {
	if o.InTTY {
		return o.In
	}
	return nil
}
