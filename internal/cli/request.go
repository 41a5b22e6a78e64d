package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/client"
	"fika/internal/term"
)

func newRequest(e *env) *cobra.Command {
	return group("request", "look at requests: list, show, wait, cancel, retry",
		"A request is a piece of work one agent has taken or will take. Its id may be\nshortened to any unique beginning of at least 6 characters.", "  fika request list\n  fika request wait 01a1fd6e",
		newRequestList(e), newRequestShow(e), newRequestWait(e), newRequestCancel(e), newRequestRetry(e))
}

func newRequestList(e *env) *cobra.Command {
	var agent, state string
	var limit int
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "list requests, newest first", Example: "  fika request list --agent coder --state running", Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			c, err := e.reader(ctx)
			if err != nil {
				return err
			}
			f := client.RequestFilter{Limit: limit}
			if agent != "" {
				row, err := c.Agents.FindKnown(ctx, agent)
				if err != nil {
					return err
				}
				f.Agent = row.ID
			}
			if state != "" {
				if !slices.Contains(requestStates[:], fika.RequestState(state)) {
					return usageError("--state is one of %s, not %q", joinWords(requestStates[:]), state)
				}
				f.States = []fika.RequestState{fika.RequestState(state)}
			}
			list, err := c.Requests.List(ctx, f)
			if err != nil {
				return err
			}
			if asJSON {
				return printLines(e, list, toRequestJSON)
			}
			return e.Table([]string{"REQUEST", "KIND", "AGENT", "STATE", "AGE", "PROMPT"}, rows(list, func(r client.RequestInfo) []string {
				return []string{string(r.ID), string(r.Kind), string(r.AgentName), string(r.State), term.Ago(r.CreatedAt, e.now()), term.Truncate(term.CleanLine(promptOf(r)), 60)}
			}))
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "only those of this agent")
	c.Flags().StringVar(&state, "state", "", "only those in this state: "+joinWords(requestStates[:]))
	c.Flags().IntVar(&limit, "limit", 50, "at most this many")
	c.Flags().BoolVar(&asJSON, "json", false, "JSON Lines")
	_ = c.RegisterFlagCompletionFunc("agent", e.completeAgents)
	_ = c.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(strings.Split(joinWords(requestStates[:]), ", "), nothing))
	return c
}

// requestStates are all states a request may be in.
var requestStates = [...]fika.RequestState{fika.Open, fika.Running, fika.Waiting, fika.Done, fika.RequestFailed, fika.Cancelled, fika.StateInterrupted, fika.Dead}

func joinWords[T ~string](list []T) string {
	var words []string
	for _, w := range list {
		words = append(words, string(w))
	}
	return strings.Join(words, ", ")
}

func promptOf(r client.RequestInfo) string {
	if r.Payload.Prompt == "" {
		return "(" + string(r.ConversationName) + ")"
	}
	return r.Payload.Prompt
}

func newRequestShow(e *env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show REQUEST", Short: "show one request", Example: "  fika request show 01a1fd6e", Args: exactly(1, "a request id"), ValidArgsFunction: first(e.completeRequests()),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.reader(cmd.Context())
			if err != nil {
				return err
			}
			f, err := c.Requests.Family(cmd.Context(), fika.RequestID(args[0]))
			if err != nil {
				return err
			}
			if asJSON {
				return e.printJSON(toFamilyJSON(f))
			}
			e.showRequest(f)
			return e.checkWritten("")
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return c
}

func newRequestWait(e *env) *cobra.Command {
	var timeout time.Duration
	var asJSON, raw bool
	c := &cobra.Command{
		Use: "wait REQUEST", Short: "wait for a request and print its answer", Args: exactly(1, "a request id"), ValidArgsFunction: first(e.completeRequests(fika.Open, fika.Running, fika.Waiting)),
		Long:    "Waits for a request and prints its answer. Ctrl-C stops the waiting; the work\ngoes on.\n\n" + exitHelp,
		Example: "  fika request wait $(fika task --no-wait coder \"write tests\")",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := e.reader(ctx)
			if err != nil {
				return err
			}
			info, err := c.Requests.Request(ctx, fika.RequestID(args[0]))
			if err != nil {
				return err
			}
			follow, err := c.Requests.Follow(info.AgentName)
			if err != nil {
				return err
			}
			defer follow.Close()
			follow.Warn = e.warn
			waiting, cancel := context.WithCancel(ctx)
			if timeout > 0 {
				waiting, cancel = context.WithTimeout(ctx, timeout)
			}
			defer cancel()
			view := newFollowView(e, asJSON, raw)
			defer func() { view.shown.close() }()
			info, err = follow.Await(waiting, info.ID, view.show)
			if waiting.Err() != nil {
				view.endLine()
				return fika.Errorf(fika.Detached, "", "you stopped waiting; request %s goes on", args[0])
			}
			if err != nil {
				return err
			}
			return view.end(info)
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", 0, "stop waiting after this long")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object at the end")
	rawFlag(c, &raw)
	return c
}

// requestsFor is a client for requests that exist.
func (e *env) requestsFor(ctx context.Context, ids []string) (*client.Client, error) {
	return e.clientFor(ctx, func(c *client.Client) error {
		for _, id := range ids {
			if _, err := c.Requests.Request(ctx, fika.RequestID(id)); err != nil {
				return err
			}
		}
		return nil
	})
}

func newRequestCancel(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "cancel REQUEST...", Short: "cancel requests", Example: "  fika request cancel 01a1fd6e", Args: atLeastOne("the ids of requests"), ValidArgsFunction: several(e.completeRequests(fika.Open, fika.Running, fika.Waiting)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.reader(cmd.Context()) // what stops work starts nothing
			if err != nil {
				return err
			}
			for _, id := range args {
				r, err := c.Requests.Cancel(cmd.Context(), fika.RequestID(id), "cancelled by fika request cancel")
				if err != nil {
					return err
				}
				switch {
				case r.State == fika.Cancelled:
					e.say("request %s is cancelled", r.ID)
				case r.State.Terminal():
					e.say("request %s had ended already: %s", r.ID, r.State)
				default:
					e.say("request %s is asked to stop", r.ID)
				}
			}
			return nil
		},
	}
}

func newRequestRetry(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "retry REQUEST", Short: "make a new request of one that did not end well", Example: "  fika request retry 01a1fd6e", Args: exactly(1, "a request id"), ValidArgsFunction: first(e.completeRequests(fika.RequestFailed, fika.Cancelled, fika.StateInterrupted, fika.Dead)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.requestsFor(cmd.Context(), args)
			if err != nil {
				return err
			}
			id, err := c.Requests.Retry(cmd.Context(), fika.RequestID(args[0]))
			if err != nil {
				return err
			}
			return e.println(id)
		},
	}
}
