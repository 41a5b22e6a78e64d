package agent

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/setup"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/system/term"
	"fika/internal/text/hint"
	"fika/internal/worker"
)

// learnOptions are the flags of agent learn.
type learnOptions struct {
	*command.Env
	accept, decline, omit, asJSON bool
	model                         string
}

func newLearn(e *command.Env) *cobra.Command {
	o := &learnOptions{Env: e}
	c := &cobra.Command{
		Use: "learn NAME", Short: "propose a change to an agent's notes or prompt from its outcomes",
		Long: `Reads the outcomes of an agent's work since the last time: failures, calls that
were refused, answers that were sent back, what you said to its answers. The
agent's model proposes a change to its reflection or its prompt. fika shows the
change as a diff and writes it if you say yes; n drops it, Enter keeps it for
later. Without a terminal fika keeps the proposal and exits with status 6;
decide with --accept or --decline.

Text that the agent has read from outside must not enter a prompt: fika refuses
work that holds such text, and names the entry, or leaves the work out with
--omit-tainted. A file that has changed since the proposal is not written.

` + command.ExitHelp,
		Example: "  fika agent learn coder\n  fika agent learn coder --json | jq -r .diff\n  fika agent learn coder --accept",
		Args:    command.Exactly(1, "the name of an agent"), ValidArgsFunction: complete.FirstOnly(complete.LoneAgents(e)),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	f := c.Flags()
	f.BoolVar(&o.accept, "accept", false, "write the proposed change")
	f.BoolVar(&o.decline, "decline", false, "drop the proposed change")
	f.BoolVar(&o.omit, "omit-tainted", false, "leave out work that holds text from outside")
	f.StringVarP(&o.model, "model", "m", "", "model to ask (id or nickname)")
	command.JSONFlag(c, &o.asJSON)
	_ = c.RegisterFlagCompletionFunc("model", complete.ModelNames(e))
	return c
}

// learnedJSON is a proposal, or the fact that there is none, for programs.
type learnedJSON struct {
	Agent   fika.AgentName `json:"agent"`
	State   string         `json:"state"`  // proposed, accepted, declined, nothing
	Target  *string        `json:"target"` // reflection, prompt
	File    *string        `json:"file"`
	Why     *string        `json:"why"`
	Diff    *string        `json:"diff"`
	After   *string        `json:"after"`
	Cases   int            `json:"cases"`   // cases that were read
	Omitted int            `json:"omitted"` // cases left out because they hold text from outside
	Model   *string        `json:"model"`   // the model that made it
	Usage   fika.Usage     `json:"usage"`   // of this invocation
	MadeAt  *time.Time     `json:"made_at"`
}

func (o *learnOptions) run(ctx context.Context, name string) error {
	if o.accept && o.decline {
		return command.UsageError("--accept and --decline are two answers: give one")
	}
	flags := map[string]string{}
	if o.model != "" {
		flags["model"] = o.model
	}
	c, err := o.Service(ctx)
	if err != nil {
		return err
	}
	row, err := c.Agents.FindLone(ctx, name)
	if err != nil {
		return err
	}
	l, err := worker.LearningOf(ctx, o.App(), row.Name, flags, o.Warn)
	if err != nil {
		return err
	}
	if o.accept || o.decline {
		p, err := l.Pending()
		switch {
		case err != nil:
			return err
		case p == nil:
			return fika.WithHint(fika.Errorf(fika.NotFound, "", "nothing is proposed for @%s", row.Name), hint.AgentLearn.With(row.Name))
		}
		return o.settle(row.Name, l, *p, o.accept)
	}
	done, err := l.Propose(ctx, o.omit)
	if err != nil {
		return err
	}
	o.sayRead(row.Name, done)
	if done.Proposal == nil {
		return o.nothing(row.Name, done)
	}
	return o.propose(row.Name, l, done)
}

// sayRead tells the person what was read, and what was not.
func (o *learnOptions) sayRead(name fika.AgentName, done worker.Learned) {
	switch {
	case done.Kept:
		o.Say("@%s: this was proposed before, from %s; no model was asked", name, command.Plural(done.Cases, "case"))
	case done.Model != "":
		o.Say("@%s: %s, read by %s (%d tokens read, %d written)", name, command.Plural(done.Cases, "case"), done.Model, done.Usage.Input, done.Usage.Output)
	}
	if done.Omitted > 0 {
		o.Say("%s left out: they hold text from outside", command.Plural(done.Omitted, "case"))
	}
	if done.Older {
		o.Say("only the newest outcomes are looked at")
	}
	if done.Rest {
		o.Say("there is more than one call can hold: learn again after this")
	}
}

func (o *learnOptions) nothing(name fika.AgentName, done worker.Learned) error {
	if o.asJSON {
		return o.PrintJSON(learnedJSON{Agent: name, State: "nothing", Why: command.Optional(done.Why), Cases: done.Cases, Omitted: done.Omitted, Model: command.Optional(done.Model), Usage: done.Usage})
	}
	switch {
	case done.Cases == 0:
		o.Say("nothing to learn from: since the last time no work of @%s has failed, been refused or been answered by you", name)
	case done.Why != "":
		o.Say("nothing to change: %s", term.CleanLine(done.Why))
	default:
		o.Say("nothing to change")
	}
	return nil
}

// propose shows a proposal and asks the person to decide, if there is somebody to ask.
func (o *learnOptions) propose(name fika.AgentName, l *worker.Learning, done worker.Learned) error {
	p := *done.Proposal
	if o.asJSON {
		j := learnedToJSON(name, p, "proposed")
		j.Omitted, j.Usage = done.Omitted, done.Usage
		if err := o.PrintJSON(j); err != nil {
			return err
		}
	} else if err := o.Print(shownProposal(p, o.OutStyle())); err != nil {
		return err
	}
	if p.Why != "" {
		o.Say("why: %s", term.Visible(p.Why))
	}
	if o.InTTY && !o.asJSON {
		fmt.Fprintf(o.Err, "write this? [y = yes, n = no and drop it, Enter = keep it for later] ")
		var answer string
		_, _ = fmt.Fscanln(o.In, &answer)
		switch strings.ToLower(answer) {
		case "y", "yes":
			return o.settle(name, l, p, true)
		case "n", "no":
			return o.settle(name, l, p, false)
		}
	}
	o.Say("nothing is written; the proposal is kept: fika agent learn %s --accept writes it, --decline drops it", name)
	return command.Silent{Kind: fika.Denied}
}

// settle carries out the person's decision.
func (o *learnOptions) settle(name fika.AgentName, l *worker.Learning, p worker.LearnProposal, accept bool) error {
	state := "declined"
	if accept {
		state = "accepted"
		if err := l.Accept(p); err != nil {
			return err
		}
	} else if err := l.Decline(p); err != nil {
		return err
	}
	if o.asJSON {
		if err := o.PrintJSON(learnedToJSON(name, p, state)); err != nil {
			return err
		}
	}
	if !accept {
		o.Say("dropped; what it came of is not looked at again")
		return nil
	}
	o.Say("%s %s written; takes effect on @%s's next turn", o.ErrStyle().Green("✓"), p.File, name)
	if path, ok := l.InProject(p); ok {
		return o.trust(path, p)
	}
	return nil
}

// trust puts a change to a project's file that the person has just seen into force, if
// nothing else in the project has changed.
func (o *learnOptions) trust(path string, p worker.LearnProposal) error {
	pending, err := setup.ReviewProject(o.App())
	if err != nil {
		return err
	}
	file := pending.Tree.Get(path)
	if len(pending.Changes) != 1 || pending.Changes[0].Path != path || file == nil || !bytes.HasSuffix(file.Data, []byte(p.After)) {
		o.Say("a file of the project: takes effect after fika trust")
		return nil
	}
	return pending.Accept()
}

func learnedToJSON(name fika.AgentName, p worker.LearnProposal, state string) learnedJSON {
	text := strings.Join(p.Diff(), "\n") + "\n"
	return learnedJSON{
		Agent: name, State: state, Target: command.Optional(string(p.Target)), File: command.Optional(p.File), Why: command.Optional(p.Why),
		Diff: &text, After: &p.After, Cases: p.Cases, Model: command.Optional(p.Model), MadeAt: command.JSONTime(p.MadeAt),
	}
}

// shownProposal returns a proposal as a diff, with what could deceive a terminal visible.
func shownProposal(p worker.LearnProposal, st term.Style) string {
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s (the %s)\n+++ as proposed\n", p.File, p.Target)
	for _, line := range p.Diff() {
		line = term.Visible(line)
		switch {
		case strings.HasPrefix(line, "+"):
			line = st.Green(line)
		case strings.HasPrefix(line, "-"):
			line = st.Red(line)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
