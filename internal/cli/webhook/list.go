package webhook

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/system/term"
)

// webhookJSON is a receiver as --json prints it.
type webhookJSON struct {
	URL       string           `json:"url"`
	Events    []string         `json:"events"`
	State     string           `json:"state"` // new, ok, failing, unsigned, unset
	Tries     int              `json:"tries"`
	Error     command.Nullable `json:"error"`
	Delivered *time.Time       `json:"delivered"`
	Failing   *time.Time       `json:"failing"` // since when
	Next      *time.Time       `json:"next"`    // attempt
	Refused   []refusedJSON    `json:"refused"`
}

type refusedJSON struct {
	ID     string     `json:"id"`
	Again  bool       `json:"again"` // it is sent again
	Error  string     `json:"error"`
	Failed *time.Time `json:"failed"`
	Body   string     `json:"body"`
}

func toJSON(w service.Webhook) webhookJSON {
	out := webhookJSON{
		URL: w.Webhook.URL, Events: w.Events, State: stateOf(w), Tries: w.Tries, Error: command.Nullable(w.Error), Refused: []refusedJSON{},
		Delivered: command.JSONTime(w.Delivered), Failing: command.JSONTime(w.Failing), Next: command.JSONTime(w.Next),
	}
	for _, v := range w.Refused {
		out.Refused = append(out.Refused, refusedJSON{v.ID, v.State == "again", v.Error, command.JSONTime(v.Failed), v.Body})
	}
	return out
}

// stateOf returns the word for how a receiver stands.
func stateOf(w service.Webhook) string {
	switch {
	case w.Secret != nil && slices.Contains(w.Events, service.TracesEvent):
		return "unset"
	case w.Secret != nil:
		return "unsigned"
	case w.Tries > 0:
		return "failing"
	case w.WebhookState.URL == "":
		return "new"
	}
	return "ok"
}

func newList(e *command.Env) *cobra.Command {
	var asJSON bool
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "list the receivers of events, and what they refused", Args: command.Exactly(0, "no arguments"),
		Long: `Lists the receivers that [[webhooks]] names, and the collector of [otlp] (traces)
and, below each, what it has refused. One that the hub has not seen yet is new. A
receiver without its secret (unsigned), or a collector without its headers (unset),
is sent nothing; one that fails is tried again at the time that is shown. The
environment of this command and that of the hub may differ in which secrets they
have.`,
		Example: "  fika web webhook list\n  fika web webhook list --json | jq -r '.refused[].id'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			list, err := c.Webhooks().List(cmd.Context())
			if err != nil {
				return err
			}
			list = command.AtMost(list, limit)
			if asJSON {
				return command.PrintLines(e, list, toJSON)
			}
			if len(list) == 0 {
				e.Say("no receiver is set; docs/guides/webhooks.md shows how")
				return nil
			}
			return show(e, list)
		},
	}
	command.LimitFlag(c, &limit, 0, "list at most this many")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}

func show(e *command.Env, list []service.Webhook) error {
	err := e.Table([]string{"WEBHOOK", "EVENTS", "STATE", "DELIVERED", "REFUSED"}, command.TableRows(list, func(w service.Webhook) []string {
		delivered := "never"
		if !w.Delivered.IsZero() {
			delivered = term.Ago(w.Delivered, e.Now())
		}
		return []string{w.Webhook.URL, strings.Join(w.Events, " "), stateOf(w), delivered, fmt.Sprint(len(w.Refused))}
	}))
	if err != nil {
		return err
	}
	for _, w := range list {
		if w.Secret != nil {
			e.Say("%s: %v", w.Webhook.URL, w.Secret)
		}
		if w.Tries > 0 {
			e.Say("%s: %s since %s, %s; next attempt at %s", w.Webhook.URL, term.CleanLine(w.Error), w.Failing.Local().Format(time.DateTime), command.Plural(w.Tries, "attempt"), w.Next.Local().Format(time.TimeOnly))
		}
		for _, v := range w.Refused {
			again := ""
			if v.State == "again" {
				again = ", is sent again"
			}
			e.Say("%s %s: %s%s", v.ID, term.Ago(v.Failed, e.Now()), term.CleanLine(v.Error), again)
		}
	}
	return nil
}
