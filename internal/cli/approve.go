package cli

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
	"fika/internal/client"
	"fika/internal/config"
	"fika/internal/guard"
	"fika/internal/term"
	"fika/internal/turn"
)

type approvalJSON struct {
	ID           int64           `json:"id"`
	Agent        fika.AgentName  `json:"agent"`
	Conversation string          `json:"conversation"`
	Request      fika.RequestID  `json:"request_id"`
	Tool         string          `json:"tool"`
	Args         json.RawMessage `json:"arguments"`
	Workspace    string          `json:"workspace"`
	What         string          `json:"what"`
	Rule         string          `json:"rule"`
	State        string          `json:"state"`
	Asked        time.Time       `json:"asked_at"`
	Expires      time.Time       `json:"expires_at"`
}

func toApprovalJSON(a client.OpenApproval) approvalJSON {
	return approvalJSON{
		ID: a.N, Agent: a.Agent, Conversation: string(a.Conversation), Request: a.Request, Tool: a.Tool, Args: json.RawMessage(a.Args),
		Workspace: a.Workspace, What: a.What, Rule: a.Rule, State: string(a.State), Asked: a.Asked.UTC(), Expires: a.Expires.UTC(),
	}
}

func newApprove(e *env) *cobra.Command {
	var always, asJSON bool
	var deny string
	c := &cobra.Command{
		Use: "approve [ID]", Short: "answer agents that ask before a tool call",
		Long: `Without ID: lists the tool calls that wait for your word, in full. With it: the
call is made once, exactly as it is shown. A call that has changed by then, or
whose script has, is asked about again.`,
		Example:           "  fika approve\n  fika approve 3\n  fika approve 3 --always\n  fika approve 4 --deny 'not on a Friday'",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: first(e.completeApprovals),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if len(args) == 0 {
				if always || cmd.Flags().Changed("deny") {
					return usageError("which one? fika approve ID; fika approve alone lists them")
				}
				return e.listApprovals(ctx, asJSON)
			}
			n, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || n < 1 {
				return usageError("%q is no number of an approval; fika approve lists them", args[0])
			}
			refuse := cmd.Flags().Changed("deny")
			if refuse && always {
				return usageError("--always and --deny exclude each other")
			}
			return e.answerApproval(ctx, n, !refuse, always, deny)
		},
	}
	c.Flags().BoolVar(&always, "always", false, "also write a rule that allows such calls from now on")
	c.Flags().StringVar(&deny, "deny", "", "refuse the call, and tell the agent why")
	c.Flags().BoolVar(&asJSON, "json", false, "JSON Lines")
	return c
}

func (e *env) listApprovals(ctx context.Context, asJSON bool) error {
	c, err := e.reader(ctx)
	if err != nil {
		return err
	}
	list, err := c.Approvals().Open(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return printLines(e, list, toApprovalJSON)
	}
	if len(list) == 0 {
		e.say("nothing waits for your word")
		return nil
	}
	for _, a := range list {
		e.println(fmt.Sprintf("%d  @%s in %s, asked %s, denied %s", a.N, a.Agent, a.Conversation, term.Ago(a.Asked, e.now()), "at "+a.Expires.Local().Format("2006-01-02 15:04")))
		e.println(indented(shownCall(a.Tool, a.Args)))
		e.println(indented("in " + term.Visible(a.Workspace) + "; because of " + term.Visible(a.Rule)))
	}
	return e.checkWritten("")
}

// shownCall is a tool call in full: of bash the command, else the arguments.
func shownCall(tool, args string) string {
	var bash struct {
		Command string `json:"command"`
	}
	if tool == "bash" && json.Unmarshal([]byte(args), &bash) == nil && bash.Command != "" {
		return "bash: " + term.Visible(bash.Command)
	}
	return term.Visible(tool + " " + args)
}

func indented(s string) string { return "     " + strings.ReplaceAll(s, "\n", "\n     ") }

func (e *env) answerApproval(ctx context.Context, n int64, allow, always bool, why string) error {
	c, err := e.client(ctx)
	if err != nil {
		return err
	}
	a, err := c.Approvals().Find(ctx, n)
	if err != nil {
		return err
	}
	var rule guard.Rule
	if always {
		if rule, err = e.alwaysRule(a); err != nil {
			return err
		}
	}
	if err := c.Approvals().Answer(ctx, n, client.ApprovalAnswer{Allow: allow, By: e.personName(), Why: why}); err != nil {
		return err
	}
	if always {
		h, err := e.open().Home()
		if err == nil {
			err = config.AddRule(h.ConfigFile(), rule)
		}
		if err != nil {
			return err
		}
		e.say("from now on such calls are allowed; config.toml has\n%s", rule.TOML())
	}
	verb := "approved"
	if !allow {
		verb = "denied"
	}
	e.say("%s %d: @%s goes on", verb, n, a.Agent)
	return nil
}

// alwaysRule is the rule that spares the question from now on.
func (e *env) alwaysRule(a client.OpenApproval) (guard.Rule, error) {
	s, err := e.open().Settings(a.Agent, nil, true)
	if err != nil {
		return guard.Rule{}, err
	}
	call := guard.Call{Tool: a.Tool, Workspace: a.Workspace, Home: e.getenv("HOME")}
	call.Read([]byte(a.Args))
	d := guard.Decide(call, s.Guard.Rules, guard.Facts{Default: guard.Action(s.Guard.Default)})
	if d.Do != guard.Ask {
		return guard.Rule{}, fika.Errorf(fika.Conflict, "", "the rules do not ask about this call any more; approve it without --always")
	}
	r, ok := d.Allowing(call)
	if !ok {
		return guard.Rule{}, fika.Errorf(fika.Invalid, "", "no rule would win over the one at %s: change that, and approve this call without --always", d.Rule.Where)
	}
	return r, nil
}

// personName is what the person who answers is called.
func (e *env) personName() string {
	if c, err := e.open().Config(); err == nil && c.Username != "" {
		return c.Username
	}
	return "user"
}

// askAtTerminal asks the person about a tool call. What was typed before the
// question does not answer it.
func (e *env) askAtTerminal(ctx context.Context, q turn.Question, typed io.Reader) error {
	if f, ok := e.In.(*os.File); ok {
		term.DropTyped(f)
	}
	v := q.Verdict
	changed := ""
	if q.Changed {
		changed = " (it has changed since it was approved)"
	}
	fmt.Fprintf(e.Err, "\n@%s asks%s, because of %s:\n%s\n%s\nallow this call once? type yes or no: ", q.Call.Agent, changed, term.Visible(v.Rule),
		indented(shownCall(q.Call.Name, string(q.Call.Args))), indented("in "+term.Visible(q.Call.Workspace)))
	line, _ := bufio.NewReader(typed).ReadString('\n') // it ends with ctx, too
	switch {
	case ctx.Err() != nil:
		return fika.Wrap(fika.Interrupted, "", context.Cause(ctx))
	case strings.EqualFold(strings.TrimSpace(line), "yes"):
		return nil
	}
	return fika.Errorf(fika.Denied, "", "the person at the terminal said no")
}

func (e *env) completeApprovals(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	c, err := e.asked(cmd)
	if err != nil {
		return nil, nothing
	}
	list, err := c.Approvals().Open(cmd.Context())
	if err != nil {
		return nil, nothing
	}
	for _, a := range list {
		out = append(out, offered(strconv.FormatInt(a.N, 10), "@"+string(a.Agent)+": "+term.CleanLine(a.What)))
	}
	return out, nothing
}
