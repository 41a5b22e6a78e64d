package request

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/api"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/text/words"
)

func newShow(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show REQUEST", Short: "show one request", Example: "  fika request show 01a1fd6e", Args: command.Exactly(1, "a request id"), ValidArgsFunction: complete.FirstOnly(complete.RequestIDs(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			f, err := c.Requests.Family(cmd.Context(), fika.RequestID(args[0]))
			if err != nil {
				return err
			}
			if asJSON {
				return e.PrintJSON(toFamilyJSON(e, f))
			}
			about, err := c.Requests.About(cmd.Context(), f.RequestInfo)
			if err != nil {
				return err
			}
			showRequest(e, f, c, about[f.ID])
			return e.CheckWritten("")
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func showRequest(e *command.Env, f service.Family, c *service.Service, about string) {
	r := f.RequestInfo
	p := func(k, v string) {
		if v != "" {
			_ = e.Printf("%-13s %s\n", k, term.Clean(v))
		}
	}
	p("request", string(r.ID))
	p("kind", string(r.Kind))
	p("agent", string(r.AgentName))
	p("asked", string(r.AddressedName))
	p("handed over", r.Handed)
	p("conversation", string(r.ConversationName))
	p("state", stateOf(e, r, f.Approval))
	if f.Parent != nil {
		p("parent", kinOf(*f.Parent))
	}
	for _, k := range f.Children {
		p("delegated", kinOf(k.RequestInfo))
	}
	p("created", r.CreatedAt.Local().Format(time.DateTime))
	if !r.Deadline.IsZero() {
		p("deadline", r.Deadline.Local().Format(time.DateTime))
	}
	if !r.FinishedAt.IsZero() {
		p("took", term.Duration(r.FinishedAt.Sub(r.StartedAt)))
	}
	p("model", cmp.Or(command.ModelsUsed(r.Outcome.Models), r.Outcome.Model))
	tokens := tokensOf(r.Outcome.Usage)
	if n := f.Count(); n > 0 {
		tokens += fmt.Sprintf("; with %d delegated: %s", n, tokensOf(f.Usage()))
	}
	p("tokens", tokens)
	p("cost", costOf(f, c))
	p("retry of", string(r.RetryOf))
	p("prompt", about)
	if r.Outcome.Stop == fika.Silent {
		p("answer", "(said nothing)")
	}
	p("answer", r.Outcome.Answer)
	p("error", r.Outcome.Error)
}

// costOf returns what a request has cost, alone and with all that it delegated; "" if
// no model was called.
func costOf(f service.Family, c *service.Service) string {
	if f.Usage() == (fika.Usage{}) {
		return ""
	}
	own := term.Money(f.Outcome.Usage, c.RequestUnpriced(f.RequestInfo))
	if n := f.Count(); n > 0 {
		own += fmt.Sprintf("; with %d delegated: %s", n, term.Money(f.Usage(), anyUnpriced(f, c)))
	}
	return own
}

func anyUnpriced(f service.Family, c *service.Service) bool {
	return c.RequestUnpriced(f.RequestInfo) || slices.ContainsFunc(f.Children, func(k service.Family) bool { return anyUnpriced(k, c) })
}

func tokensOf(u fika.Usage) string {
	return fmt.Sprintf("%s in, %s out", term.Input(u), term.Output(u))
}

// StateText says what an accepted request does or waits for.
func StateText(e *command.Env, r service.RequestInfo) string {
	switch {
	case r.State == fika.Open:
		return "not begun yet"
	case r.State == fika.Running:
		return "still working"
	}
	return stateOf(e, r, 0)
}

// stateOf says how a request stands; approval is the number of the question to a person that
// it waits for, 0 if there is none or it is not known.
func stateOf(e *command.Env, r service.RequestInfo, approval int64) string {
	reason := fika.WaitReason(r.Reason)
	switch {
	case approval != 0: // its process may wait with it
		reason = fika.WaitApproval
	case r.Reason == "":
		return string(r.State)
	case r.State != fika.Waiting:
		return string(r.State) + " (" + r.Reason + ")"
	}
	return words.Brief(api.Suspended{Reason: reason, Agent: r.AgentName, Request: r.ID, Approval: approval}.Status(), e.Now())
}

// kinOf returns a line about a parent or a child.
func kinOf(r service.RequestInfo) string {
	if r.AgentName == "" {
		return string(r.ID) + " (deleted)"
	}
	return fmt.Sprintf("%s %s %s: %s", r.ID, command.WorkedBy(r), r.State, term.Truncate(strings.Join(strings.Fields(command.PromptOf(r)), " "), 60))
}

// familyJSON is a request with all that descends from it.
type familyJSON struct {
	JSON
	Children []familyJSON `json:"children"`
	Total    *fika.Usage  `json:"usage_with_children"`
}

func toFamilyJSON(e *command.Env, f service.Family) familyJSON {
	j := familyJSON{JSON: ToJSON(e, f.RequestInfo)}
	for _, k := range f.Children {
		j.Children = append(j.Children, toFamilyJSON(e, k))
	}
	if len(j.Children) > 0 {
		u := f.Usage()
		j.Total = &u
	}
	return j
}
