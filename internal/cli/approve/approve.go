package approve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/rights/guard"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/terminal/question"
	"fika/internal/text/hint"
	"fika/internal/turn"
)

type approvalJSON struct {
	ID           int64            `json:"id"`
	Agent        fika.AgentName   `json:"agent"`
	Conversation string           `json:"conversation"`
	Request      fika.RequestID   `json:"request_id"`
	Tool         string           `json:"tool"`
	Args         json.RawMessage  `json:"arguments"`
	Workspace    string           `json:"workspace"`
	What         string           `json:"what"`
	Rule         string           `json:"rule"`
	Choice       []string         `json:"choice"` // the answer is one of these
	Answer       command.Nullable `json:"answer"` // "text": the answer is a text
	State        string           `json:"state"`
	Asked        time.Time        `json:"asked_at"`
	Expires      time.Time        `json:"expires_at"`
}

func toApprovalJSON(a service.OpenApproval) approvalJSON {
	q, _ := service.StepQuestionOf(a)
	return approvalJSON{
		Choice: command.EmptyIfNil(q.Choice), Answer: command.Nullable(q.Answer), ID: a.N, Agent: a.Agent, Conversation: string(a.Conversation), Request: a.Request, Tool: a.Tool, Args: json.RawMessage(a.Args),
		Workspace: a.Workspace, What: a.What, Rule: a.Rule, State: string(a.State), Asked: a.Asked.UTC(), Expires: a.Expires.UTC(),
	}
}

// New returns the command fika approve.
func New(e *command.Env) *cobra.Command {
	var always, yes, asJSON bool
	var deny, reply string
	c := &cobra.Command{
		Use: "approve [ID]", Short: "answer agents that ask before a tool call",
		Long: `Without ID: lists, in full, the tool calls that wait for your decision. With ID:
the call is made once, exactly as shown. If the call or its script has changed
by then, fika asks again. A step of a workflow may ask for a choice or a text
instead: --answer gives it.`,
		Example:           "  fika approve\n  fika approve 3\n  fika approve 3 --always\n  fika approve 4 --deny 'not on a Friday'\n  fika approve 5 --answer blue",
		Args:              command.AtMostOne("the number of an approval"),
		ValidArgsFunction: complete.FirstOnly(complete.ApprovalNumbers(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if len(args) == 0 {
				if always || cmd.Flags().Changed("deny") || cmd.Flags().Changed("answer") {
					return command.UsageError("which one? %s ID; %s alone lists them", hint.Approve.With(), hint.Approve.With())
				}
				return listApprovals(ctx, e, asJSON)
			}
			n, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || n < 1 {
				return fika.WithHint(command.UsageError("%q is not the number of an approval", args[0]), hint.Approve.With())
			}
			refuse := cmd.Flags().Changed("deny")
			if refuse && always {
				return command.UsageError("--always and --deny cannot be used together")
			}
			if cmd.Flags().Changed("answer") {
				if refuse || always {
					return command.UsageError("--answer excludes --deny and --always")
				}
				return answerApproval(ctx, e, n, answer{allow: true, words: true, why: reply})
			}
			return answerApproval(ctx, e, n, answer{allow: !refuse, always: always, sure: yes, why: deny})
		},
	}
	c.Flags().BoolVar(&always, "always", false, "also write a rule that allows such calls from now on")
	c.Flags().StringVar(&deny, "deny", "", "refuse the call, and tell the agent why")
	c.Flags().StringVar(&reply, "answer", "", "answer the question of a step: one of its choices, or a text")
	_ = c.RegisterFlagCompletionFunc("answer", complete.Choices(e))
	command.YesFlag(c, &yes, "with --always: write the rule without asking")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}

func listApprovals(ctx context.Context, e *command.Env, asJSON bool) error {
	c, err := e.Service(ctx)
	if err != nil {
		return err
	}
	list, err := c.Approvals().Open(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return command.PrintLines(e, list, toApprovalJSON)
	}
	if len(list) == 0 {
		e.Say("nothing to approve")
		return nil
	}
	where, err := c.Hosts().Where(ctx)
	if err != nil {
		return err
	}
	for _, a := range list {
		until := ""
		if !a.Expires.IsZero() {
			until = ", denied at " + a.Expires.Local().Format("2006-01-02 15:04")
		}
		on := ""
		if host := where[a.Agent]; host != "" {
			on = " on " + host
		}
		e.Println(fmt.Sprintf("%d  %s%s, asked %s%s", a.N, question.AskerText(a), on, term.Ago(a.Asked, e.Now()), until))
		e.Println(question.DetailText(a))
	}
	return e.CheckWritten("")
}

// answer is a person's answer about a tool call.
type answer struct {
	allow  bool
	always bool // applies to calls like it, too
	sure   bool // the rule is written without a question
	words  bool // why is the answer to a question that asks for one
	why    string
}

func answerApproval(ctx context.Context, e *command.Env, n int64, said answer) error {
	c, err := e.ServiceWithHub(ctx)
	if err != nil {
		return err
	}
	a, err := c.Approvals().Find(ctx, n)
	if err != nil {
		return err
	}
	q, _ := service.StepQuestionOf(a)
	switch wants := q.Wants(); {
	case said.words && wants == "":
		return command.UsageError("%d is answered with yes or no: %s, or %s --deny WHY", n, hint.Approve.With(n), hint.Approve.With(n))
	case said.allow && !said.words && wants != "":
		return command.UsageError("%d is answered with %s: %s --answer ANSWER", n, wants, hint.Approve.With(n))
	}
	var rule guard.Rule
	if said.always {
		if rule, err = c.Approvals().RuleFor(a); err != nil {
			return err
		}
		if err := showRule(e, rule, said.sure); err != nil {
			return err
		}
	}
	if err := c.Approvals().Answer(ctx, n, service.ApprovalAnswer{Allow: said.allow, By: command.PersonName(e), Why: said.why}); err != nil {
		return err
	}
	if said.always {
		if err := c.Approvals().AddRule(ctx, n, rule); err != nil {
			return err
		}
		h, err := e.App().Home()
		if err != nil {
			return err
		}
		e.Say("from now on such calls are allowed; the rule is in %s", h.ConfigFile())
	}
	verb := "approved"
	switch {
	case !said.allow:
		verb = "denied"
	case said.words:
		verb = "answered"
	}
	if a.FlowStep != "" {
		e.Say("%s %d: the run continues", verb, n)
		return nil
	}
	e.Say("%s %d: @%s continues", verb, n, a.Agent)
	return nil
}

// showRule shows a rule that is about to be written, with a call that it covers and
// one that it just misses. At a terminal it asks for consent, unless sure is set.
func showRule(e *command.Env, r guard.Rule, sure bool) error {
	e.Say("the rule is\n%s", question.IndentLines(term.Visible(r.TOML())))
	if match, miss := r.Examples(); match != "" {
		e.Say("it covers %s\nand not %s", term.Visible(match), term.Visible(miss))
	} else {
		e.Say("it covers every call of %s", r.Tool)
	}
	if !e.InTTY || sure {
		return nil
	}
	return e.Confirm("write this rule, and approve the call")
}

// readingTime is how long a question is shown before it can be answered: what is typed
// until then was meant for something else.
const readingTime = 700 * time.Millisecond

// AskAtTerminal asks the person about a tool call, and returns nil for yes. Keys that
// were being typed when the question came do not answer it, and neither does anything
// but yes and no. It fails with Denied for no, at the end of input and if listen
// returns no reader, and with Interrupted when ctx ends.
func AskAtTerminal(ctx context.Context, e *command.Env, q turn.Question, listen func() (io.Reader, error)) error {
	v := q.Verdict
	changed := ""
	if len(q.Changed) > 0 {
		changed = " (changed since it was approved: " + term.Visible(strings.Join(q.Changed, ", ")) + ")"
	}
	fmt.Fprintf(e.Err, "\n@%s asks%s, because of %s:\n%s\n%s\n", q.Call.Agent, changed, term.Visible(v.Rule),
		question.IndentLines(question.ShowCall(q.Call.Name, string(q.Call.Args))), question.IndentLines("in "+term.Visible(q.Call.Workspace)))
	select {
	case <-time.After(readingTime):
	case <-ctx.Done():
	}
	if f, ok := e.In.(*os.File); ok {
		term.DropTyped(f)
	}
	typed, err := listen()
	if err != nil {
		return err
	}
	if typed == nil {
		return fika.Errorf(fika.Denied, "", "no terminal is attached")
	}
	for lines := bufio.NewReader(typed); ; {
		fmt.Fprint(e.Err, "allow this call once? type yes or no: ")
		line, err := lines.ReadString('\n') // returns when ctx ends, too
		switch word := strings.ToLower(strings.TrimSpace(line)); {
		case ctx.Err() != nil:
			return fika.Wrap(fika.Interrupted, "", context.Cause(ctx))
		case word == "yes":
			return nil
		case word == "no", word == "n", err != nil:
			return fika.Errorf(fika.Denied, "", "denied at the terminal")
		}
	}
}
