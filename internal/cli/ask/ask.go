package ask

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/api"
	"fika/internal/bus/message"
	"fika/internal/chat/mention"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/cli/request"
	"fika/internal/service"
	"fika/internal/text/hint"
)

// askOptions are the flags of ask and task.
type askOptions struct {
	*command.Env
	kind    fika.RequestKind
	noWait  bool
	timeout time.Duration
	json    bool
	raw     bool
	model   string
	from    string
	files   command.NamedFiles
	combine string // the agent that makes one answer of a team's answers
}

// NewAsk makes fika ask.
func NewAsk(e *command.Env) *cobra.Command {
	o := &askOptions{Env: e, kind: fika.AskRequest}
	c := askCommand(o, "ask AGENT PROMPT...",
		"give an agent work, and wait for its answer",
		"Sends a prompt to an agent's ongoing conversation and shows the answer as it is\nwritten. The agent's other activity goes to stderr. With --new, the prompt runs\nin a conversation of its own, which is kept but never continued.",
		"  fika ask coder \"now add error handling\"\n  git diff | fika ask reviewer \"is this safe?\"\n  fika ask --new --no-wait researcher \"compare the three libraries\"\n  fika ask --new \"coder,reviewer\" --combine moderator \"which database?\"")
	fresh := c.Flags().Bool("new", false, "in a conversation of its own")
	c.PreRun = func(*cobra.Command, []string) {
		if *fresh {
			o.kind = fika.TaskRequest
		}
	}
	return c
}

// NewTask makes fika task, the older spelling of fika ask --new.
func NewTask(e *command.Env) *cobra.Command {
	return askCommand(&askOptions{Env: e, kind: fika.TaskRequest}, "task AGENT PROMPT...",
		"give an agent a task in a fresh conversation",
		"Runs a prompt in a fresh, isolated conversation, which is kept but never\ncontinued.",
		"  fika ask --new coder \"write a README for this folder\"\n  fika ask --new --no-wait researcher \"compare the three libraries\"\n  fika ask --new \"researcher -> coder -> tester\" \"stream the answer over HTTP\"\n  fika ask --new \"coder,reviewer\" --combine moderator \"which database?\"")
}

func askCommand(o *askOptions, use, short, long, example string) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Example: example,
		Long: long + `

AGENT may be auto: the agent that the prompt is for, if that is certain (fika
agent route shows how it is found); otherwise the exit status is 2, or 3 if the prompt
fits no agent that can be asked.

AGENT may be a team. "a,b" asks all of them at the same time and shows every
answer, even if one fails; "a -> b" (or "a → b") passes each answer on to the
next agent; --combine AGENT makes one answer of several. A team's work is a
workflow run (fika workflow status) made of tasks: Ctrl-C only stops waiting for
it.

Otherwise Ctrl-C cancels the request; --timeout only stops waiting.

` + command.ExitHelp,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return command.UsageError("%s takes an agent and a prompt; see %s --help", cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0], args[1:]) },
		ValidArgsFunction: complete.FirstOnly(o.completeAddressees),
	}
	f := c.Flags()
	f.BoolVar(&o.noWait, "no-wait", false, "print the request id and return")
	f.DurationVar(&o.timeout, "timeout", 0, "stop waiting after this long (the work continues)")
	f.BoolVar(&o.json, "json", false, "print one JSON object at the end")
	command.RawFlag(c, &o.raw)
	f.StringVarP(&o.model, "model", "m", "", "model for this request only (id or nickname)")
	_ = c.RegisterFlagCompletionFunc("model", complete.ModelNames(o.Env))
	o.files.Flags(c)
	f.StringVar(&o.from, "as", "", "name to speak as (default: your username)")
	f.StringVar(&o.combine, "combine", "", "for a team: the agent that makes one answer of all")
	_ = c.RegisterFlagCompletionFunc("combine", complete.AgentNames(o.Env))
	return c
}

func (o *askOptions) run(ctx context.Context, name string, words []string) error {
	if o.timeout < 0 {
		return command.UsageError("--timeout is a span of time such as 10m, not %s", o.timeout)
	}
	if meansAuto(name) {
		name = service.Auto
	}
	prompt, err := o.ReadPrompt("fika "+string(o.kind)+" "+command.ShellWord(name), words)
	if err != nil {
		return err
	}
	prompt, pictures, err := o.AttachFiles(o.files, prompt)
	if err != nil {
		return err
	}
	if len(pictures) > 0 && (meansTeam(name) || o.combine != "") {
		return command.UsageError("pictures are for one agent, and %s is a team", name)
	}
	if meansTeam(name) || o.combine != "" {
		return o.runTeam(ctx, name, prompt)
	}
	as := service.Alias{Name: o.from, Option: "--as"}
	var row fika.Agent
	c, err := o.ServiceFor(ctx, func(c *service.Service) (err error) {
		if err = c.CheckAlias(ctx, as); err == nil {
			row, err = o.addressee(ctx, c, name, prompt)
		}
		return err
	})
	if err != nil {
		return err
	}
	if strings.Contains(prompt, "@") {
		o.hintMention(prompt)
	}
	return o.submit(ctx, c, row, service.Ask{Kind: o.kind, Prompt: prompt, As: as, Model: o.model, Background: o.noWait, Attachments: pictures})
}

// meansAuto reports whether the agent is to be chosen by the prompt.
func meansAuto(name string) bool {
	return strings.EqualFold(strings.TrimPrefix(name, "@"), service.Auto)
}

// completeAddressees completes the names of agents, and auto.
func (o *askOptions) completeAddressees(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	out, how := complete.AgentNames(o.Env)(cmd, args, word)
	return append(out, complete.WithAbout(service.Auto, "the agent that the prompt is for")), how
}

// addressee returns the agent called name or, for auto, the agent that fits the prompt,
// which it tells the person.
func (o *askOptions) addressee(ctx context.Context, c *service.Service, name, prompt string) (fika.Agent, error) {
	if name != service.Auto {
		return c.Agents.Find(ctx, name)
	}
	row, match, err := c.Routing.ChooseJudged(ctx, prompt, o.Warn)
	if err == nil {
		o.Say("%s", o.ErrStyle().Dim("→ @"+string(row.Name)+": "+match.Why))
	}
	return row, err
}

// submit commits the request, then shows its progress and outcome.
func (o *askOptions) submit(ctx context.Context, c *service.Service, row fika.Agent, ask service.Ask) error {
	follow, err := c.Requests.Follow(row.Name)
	if err != nil {
		return err
	}
	defer follow.Close()
	follow.Warn = o.WarnStatus
	accepted, err := c.Requests.Submit(ctx, row, ask)
	if err != nil {
		return err
	}
	o.Typed = ""
	if row, err = o.bound(ctx, c, row, accepted.Request.ID); err != nil {
		return err
	}
	if o.noWait {
		if why := c.Availability.NeverAnswers(ctx, row); !why.IsClear() {
			o.WarnStatus(api.Stands(api.WaitingUntilThen).With(why))
		}
		return o.Println(accepted.Request.ID)
	}
	return o.await(ctx, c, follow, accepted.Request.ID, row.Name)
}

// bound returns the member of a pool that an ask has gone to, which stays the same until
// a reset, and tells the person; any other agent it returns unchanged.
func (o *askOptions) bound(ctx context.Context, c *service.Service, row fika.Agent, id fika.RequestID) (fika.Agent, error) {
	if !row.IsPool() || o.kind != fika.AskRequest {
		return row, nil
	}
	info, err := c.Requests.Request(ctx, id)
	if err != nil {
		return row, err
	}
	o.Say("%s", o.ErrStyle().Dim(fmt.Sprintf("→ @%s, to whom your asks of @%s go until fika agent reset %s", info.AgentName, row.Name, row.Name)))
	return c.Agents.Find(ctx, string(info.AgentName))
}

// await shows a request until its outcome. Ctrl-C cancels it; the timeout
// only ends the waiting.
func (o *askOptions) await(ctx context.Context, c *service.Service, follow *service.Follow, id fika.RequestID, name fika.AgentName) error {
	view := request.NewFollowView(o.Env, o.json, o.raw)
	defer func() { view.Shown.Finish() }()
	view.Begin(follow, id, name)
	waiting, cancel := context.WithCancel(ctx)
	if o.timeout > 0 {
		waiting, cancel = context.WithTimeout(ctx, o.timeout)
	}
	defer cancel()
	info, err := follow.Await(waiting, id, view.Show)
	switch {
	case ctx.Err() != nil:
		return o.cancelled(c, follow, id, view)
	case errors.Is(err, context.DeadlineExceeded):
		view.EndLine()
		state := "still working"
		if info, err := c.Requests.Request(ctx, id); err == nil {
			state = request.StateText(o.Env, info)
		}
		return fika.WithHint(fika.Errorf(fika.Detached, "", "you stopped waiting; %s", state), hint.RequestWait.With(id))
	case err != nil:
		return err
	}
	return view.End(info)
}

// cancelled handles Ctrl-C: it cancels the request properly, and tells the person.
func (o *askOptions) cancelled(c *service.Service, follow *service.Follow, id fika.RequestID, view *request.FollowView) error {
	view.EndLine()
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	o.Say("cancelling request %s …", id)
	if _, err := c.Requests.Cancel(ctx, id, ""); err != nil {
		return err
	}
	info, err := follow.Await(ctx, id, func(message.Status) {})
	if err != nil {
		return fika.WithHint(fika.Errorf(fika.Interrupted, "", "cancelling, but request %s has not ended yet", id), hint.RequestShow.With(id))
	}
	return view.End(info)
}

func (o *askOptions) hintMention(prompt string) {
	if mentionHint(prompt) {
		o.Say("%s", o.ErrStyle().Dim("@name is only text here; in a chat it would call that agent (fika chat send)"))
	}
}

// mentionHint reports whether a text mentions anybody, as in a chat.
func mentionHint(text string) bool {
	return strings.Contains(text, "@") && !mention.Parse(text, mention.Known{}).NoneAddressed()
}
