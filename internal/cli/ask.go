package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/agent"
	"fika/internal/client"
	"fika/internal/message"
	"fika/internal/term"
)

// askOptions are the flags of ask and task.
type askOptions struct {
	*env
	kind    fika.RequestKind
	noWait  bool
	timeout time.Duration
	json    bool
	raw     bool
	model   string
	from    string
}

func newAsk(e *env) *cobra.Command {
	return askCommand(&askOptions{env: e, kind: fika.AskRequest}, "ask AGENT PROMPT...",
		"continue an agent's conversation",
		"Sends a prompt to an agent's ongoing conversation and shows the answer as it is\nmade. What the agent does besides goes to stderr.",
		"  fika ask coder \"now add error handling\"\n  git diff | fika ask reviewer \"is this safe?\"")
}

func newTask(e *env) *cobra.Command {
	return askCommand(&askOptions{env: e, kind: fika.TaskRequest}, "task AGENT PROMPT...",
		"give an agent a task of its own",
		"Runs a prompt in a fresh, isolated conversation, which is kept but never\ncontinued.",
		"  fika task coder \"write a README for this folder\"\n  fika task --no-wait researcher \"compare the three libraries\"")
}

func askCommand(o *askOptions, use, short, long, example string) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Example: example,
		Long: long + "\n\nCtrl-C cancels the request; --timeout only stops the waiting.\n\n" + exitHelp,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("%s takes an agent and a prompt; see %s --help", cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0], args[1:]) },
		ValidArgsFunction: first(o.completeAgents),
	}
	f := c.Flags()
	f.BoolVar(&o.noWait, "no-wait", false, "print the request id and return")
	f.DurationVar(&o.timeout, "timeout", 0, "stop waiting after this long (the work goes on)")
	f.BoolVar(&o.json, "json", false, "print one JSON object at the end")
	rawFlag(c, &o.raw)
	f.StringVarP(&o.model, "model", "m", "", "model for this request only (id or nickname)")
	_ = c.RegisterFlagCompletionFunc("model", o.completeModels)
	f.StringVar(&o.from, "as", "", "name to speak as (default: your username)")
	return c
}

func (o *askOptions) run(ctx context.Context, name string, words []string) error {
	if o.timeout < 0 {
		return usageError("--timeout is a span of time such as 10m, not %s", o.timeout)
	}
	prompt, err := o.readPrompt(words)
	if err != nil {
		return err
	}
	as := client.Alias{Name: o.from, Option: "--as"}
	var row fika.Agent
	c, err := o.clientFor(ctx, func(c *client.Client) (err error) {
		if err = c.CheckAlias(ctx, as); err == nil {
			row, err = c.Agents.Find(ctx, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	if strings.Contains(prompt, "@") {
		o.hintMention(prompt)
	}
	return o.submit(ctx, c, row, client.Ask{Kind: o.kind, Prompt: prompt, As: as, Model: o.model, Background: o.noWait})
}

// submit commits the request, then shows what comes of it.
func (o *askOptions) submit(ctx context.Context, c *client.Client, row fika.Agent, ask client.Ask) error {
	follow, err := c.Requests.Follow(row.Name)
	if err != nil {
		return err
	}
	defer follow.Close()
	follow.Warn = o.warn
	accepted, err := c.Requests.Submit(ctx, row, ask)
	if err != nil {
		return err
	}
	o.typed = ""
	if o.noWait {
		if why := c.Agents.NeverAnswers(ctx, row); why != "" {
			o.warn(why + "; until then it waits")
		}
		return o.println(accepted.Request.ID)
	}
	return o.await(ctx, c, follow, accepted.Request.ID)
}

// await shows a request until its outcome. Ctrl-C cancels it; the timeout
// only ends the waiting.
func (o *askOptions) await(ctx context.Context, c *client.Client, follow *client.Follow, id fika.RequestID) error {
	view := newFollowView(o.env, o.json, o.raw)
	defer func() { view.shown.close() }()
	waiting, cancel := context.WithCancel(ctx)
	if o.timeout > 0 {
		waiting, cancel = context.WithTimeout(ctx, o.timeout)
	}
	defer cancel()
	info, err := follow.Await(waiting, id, view.show)
	switch {
	case ctx.Err() != nil:
		return o.cancelled(c, follow, id, view)
	case errors.Is(err, context.DeadlineExceeded):
		view.endLine()
		return fika.Errorf(fika.Detached, "", "still working; you stopped waiting. fika request wait %s gets the answer", id)
	case err != nil:
		return err
	}
	return view.end(info)
}

// cancelled is Ctrl-C: the request is cancelled properly, and the person told.
func (o *askOptions) cancelled(c *client.Client, follow *client.Follow, id fika.RequestID, view *followView) error {
	view.endLine()
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	o.say("cancelling request %s …", id)
	if _, err := c.Requests.Cancel(ctx, id, "cancelled from the terminal"); err != nil {
		return err
	}
	info, err := follow.Await(ctx, id, func(message.Status) {})
	if err != nil {
		return fika.Errorf(fika.Interrupted, "", "cancel was asked for, but request %s has not ended yet; fika request show %s tells", id, id)
	}
	return view.end(info)
}

func (o *askOptions) hintMention(prompt string) {
	if mentionHint(prompt) {
		o.say("%s", o.ErrStyle().Dim("@name is only text here; in a chat it would call that agent (fika chat send)"))
	}
}

// followView shows the statuses of a request that another process works on.
type followView struct {
	*env
	json   bool
	stream bool
	raw    bool
	text   io.Writer
	retake term.Retake
	step   int
	seen   int // bytes of this step's text that were shown
	wrote  bool
	open   bool
	shown  *rendered // on a terminal; nil: text is written as it is
}

func newFollowView(e *env, asJSON, raw bool) *followView {
	v := &followView{env: e, json: asJSON, stream: !asJSON && e.OutTTY, raw: raw, text: e.foreign(raw)}
	if v.stream {
		v.shown = e.rendered(raw)
	}
	return v
}

// show displays one status.
func (v *followView) show(s message.Status) {
	if v.shown != nil {
		v.shown.turns.Show(s)
		return
	}
	switch s.Status {
	case "streaming":
		v.chunk(s.Data)
	case "tool_call":
		v.line("[%s] %s", s.Data.ToolName, agent.Subject(s.Data.ToolArgs))
	case "tool_result":
		if s.Data.Denied {
			v.line("[%s] %s", s.Data.ToolName, term.Truncate(s.Data.Message, 200))
		}
	case "processing":
		if s.Data.Message != "" {
			v.line("(%s)", s.Data.Message)
		}
	}
}

func (v *followView) chunk(d message.StatusData) {
	switch {
	case !v.stream || d.Reasoning:
		return
	case d.Restart:
		v.seen = 0
		v.retake.Restart() // why comes in a message of its own
		return
	}
	if d.Step != v.step {
		v.say(v.retake.Flush())
		v.endLine()
		v.retake = term.Retake{}
		v.step, v.seen = d.Step, 0
	}
	if d.Offset+len(d.Chunk) <= v.seen {
		return
	}
	v.say(v.retake.Add(d.Chunk[max(0, v.seen-d.Offset):]))
	v.seen = d.Offset + len(d.Chunk)
}

func (v *followView) say(text string) {
	if text != "" {
		_, _ = io.WriteString(v.text, text)
		v.wrote, v.open = true, true
	}
}

func (v *followView) line(format string, args ...any) {
	v.endLine()
	fmt.Fprintln(v.Err, v.ErrStyle().Dim(term.CleanLine(fmt.Sprintf(format, args...))))
}

func (v *followView) endLine() {
	if v.open {
		_ = v.print("\n") // end looks whether all was written
		v.open = false
	}
}

// requestJSON is a request as --json shows it.
type requestJSON struct {
	ID           fika.RequestID        `json:"id"`
	Kind         fika.RequestKind      `json:"kind"`
	Agent        fika.AgentName        `json:"agent"`
	Conversation fika.ConversationName `json:"conversation"`
	State        fika.RequestState     `json:"state"`
	Outcome      *string               `json:"outcome"`
	Answer       *string               `json:"answer"`
	Error        *string               `json:"error"`
	ErrorKind    *fika.Kind            `json:"error_kind"`
	Reason       *string               `json:"reason"`
	Prompt       *string               `json:"prompt"`
	ToolCalls    []fika.ToolUsed       `json:"tool_calls"`
	Usage        fika.Usage            `json:"usage"`
	CostUSD      float64               `json:"cost_usd"`
	Model        *string               `json:"model"`
	Chain        *fika.RequestID       `json:"chain"`
	Depth        int                   `json:"depth"`
	Parent       *fika.RequestID       `json:"parent"`
	RetryOf      *fika.RequestID       `json:"retry_of"`
	Attempts     int                   `json:"attempts"`
	CreatedAt    time.Time             `json:"created_at"`
	Deadline     *time.Time            `json:"deadline"`
	StartedAt    *time.Time            `json:"started_at"`
	FinishedAt   *time.Time            `json:"finished_at"`
}

func toRequestJSON(r client.RequestInfo) requestJSON {
	j := requestJSON{
		ID: r.ID, Kind: r.Kind, Agent: r.AgentName, Conversation: r.ConversationName, State: r.State,
		Answer: optional(r.Outcome.Answer), Error: optional(r.Outcome.Error), ErrorKind: optional(r.Outcome.ErrorKind), Reason: optional(r.Reason), Prompt: optional(r.Payload.Prompt),
		ToolCalls: r.Outcome.ToolCalls, Usage: r.Outcome.Usage, CostUSD: float64(r.Outcome.Usage.Cost) / 1e6, Model: optional(r.Outcome.Model),
		Chain: optional(r.Chain), Depth: r.Depth, Parent: optional(r.Parent), RetryOf: optional(r.RetryOf), Attempts: r.Attempts, CreatedAt: r.CreatedAt.UTC(),
		Deadline: stamp(r.Deadline), StartedAt: stamp(r.StartedAt), FinishedAt: stamp(r.FinishedAt),
	}
	if j.ToolCalls == nil {
		j.ToolCalls = []fika.ToolUsed{}
	}
	if r.State.Terminal() {
		j.Outcome = optional(string(r.State))
	}
	return j
}

func stamp(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	u := t.UTC()
	return &u
}

// end prints the outcome: the committed answer where it was not streamed.
func (v *followView) end(info client.RequestInfo) error {
	if v.shown != nil {
		v.shown.end(info)
		v.wrote = true
	}
	if info.State == fika.Done {
		v.say(v.retake.Flush())
	}
	v.endLine()
	if v.json {
		_ = v.printLine(toRequestJSON(info))
	} else if info.State == fika.Done && !v.wrote {
		_ = v.answerText(info.Outcome.Answer, v.raw)
	}
	if err := v.checkWritten(keptAnswer(info.ID)); err != nil && info.State == fika.Done {
		return err
	}
	return outcomeError(info)
}

// keptAnswer says how to get an answer that did not reach stdout.
func keptAnswer(id fika.RequestID) string {
	return fmt.Sprintf("it is kept: fika request wait %s", id)
}

// outcomeError turns a bad outcome into an error of its kind.
func outcomeError(info client.RequestInfo) error {
	why := info.Outcome.Error
	if why == "" {
		why = info.Reason
	}
	switch info.State {
	case fika.Done:
		return nil
	case fika.Cancelled:
		return fika.Errorf(fika.Interrupted, "", "request %s was cancelled: %s", info.ID, why)
	case fika.StateInterrupted:
		return fika.Errorf(fika.Interrupted, "", "request %s was interrupted: %s", info.ID, why)
	case fika.Dead:
		return fika.Errorf(fika.Failed, "", "request %s is dead: %s (fika request retry %s)", info.ID, why, info.ID)
	}
	return fika.Errorf(orKind(info.Outcome.ErrorKind, fika.Failed), "", "@%s failed: %s", info.AgentName, why)
}
