package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/agent"
	"fika/internal/bus"
	"fika/internal/message"
	"fika/internal/term"
)

// monitorOptions are the flags of monitor.
type monitorOptions struct {
	*env
	agent, chat, kind string
	json              bool
}

func newMonitor(e *env) *cobra.Command {
	o := &monitorOptions{env: e}
	c := &cobra.Command{
		Use: "monitor [SUBJECT]", Short: "follow what goes over the bus",
		Long: `Shows every message on the bus of this home, as a subscriber to PREFIX.> sees
it, or to the subject given ("agent.*.status"; the prefix may be left out).
--type keeps one kind: request, bell, response, status, heartbeat, control,
chat, dead. While no hub runs it says so and waits.`,
		Example: "  fika monitor\n  fika monitor --agent coder --type status\n  fika monitor --json | jq .body",
		Args:    atMostOne("a subject"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			subject := ""
			if len(args) == 1 {
				subject = args[0]
			}
			return o.run(cmd.Context(), subject)
		},
	}
	f := c.Flags()
	f.StringVar(&o.agent, "agent", "", "only what concerns this agent")
	f.StringVar(&o.chat, "chat", "", "only the entries of this chat")
	f.StringVar(&o.kind, "type", "", "only this kind of message")
	f.BoolVar(&o.json, "json", false, "JSON Lines: at, subject, body (or text)")
	_ = c.RegisterFlagCompletionFunc("agent", e.completeAgents)
	_ = c.RegisterFlagCompletionFunc("chat", e.completeChats)
	_ = c.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(monitorTypes, cobra.ShellCompDirectiveNoFileComp))
	return c
}

var monitorTypes = []string{"request", "bell", "response", "status", "heartbeat", "control", "chat", "dead"}

func (o *monitorOptions) run(ctx context.Context, subject string) error {
	if _, err := o.open().Home(); err != nil {
		return err
	}
	subjects, err := o.open().Subjects()
	if err != nil {
		return err
	}
	if subject, err = o.subject(subjects, subject); err != nil {
		return err
	}
	b, err := o.open().Listen(ctx)
	if err != nil {
		return err
	}
	lines := make(chan bus.Msg, 4096) // when it is full the bus client keeps what comes
	states := make(chan bus.State, 16)
	watch := b.Watch(func(s bus.State, _ error) {
		select {
		case states <- s:
		default:
		}
	})
	defer watch.Close()
	done := ctx.Done()
	sub, err := b.Subscribe(subject, func(m bus.Msg) {
		select {
		case lines <- m:
		case <-done:
		}
	})
	if err != nil {
		return err
	}
	if _, up, err := o.hubUp(); err != nil {
		return err
	} else if !up {
		o.say("no hub is running; waiting for one (fika up)")
	}
	return errors.Join(o.follow(ctx, subjects, subject, lines, states), sub.Close())
}

func (e *env) hubUp() (fika.Process, bool, error) {
	h, err := e.open().Home()
	if err != nil {
		return fika.Process{}, false, err
	}
	p, up := h.HubProcess()
	return p, up, nil
}

// subject is what to subscribe to.
func (o *monitorOptions) subject(s bus.Subjects, given string) (string, error) {
	if o.kind != "" && !slices.Contains(monitorTypes, o.kind) {
		return "", usageError("--type is one of %s, not %q", strings.Join(monitorTypes, ", "), o.kind)
	}
	if given != "" {
		if strings.ContainsAny(given, " \t\r\n") || strings.HasPrefix(given, ".") || strings.HasSuffix(given, ".") || strings.Contains(given, "..") {
			return "", usageError("%q is not a subject", given)
		}
		if given != s.Prefix && !strings.HasPrefix(given, s.Prefix+".") {
			given = s.Prefix + "." + given
		}
		return given, nil
	}
	switch {
	case o.agent != "" && o.chat != "":
		return "", usageError("--agent and --chat exclude each other")
	case o.agent != "":
		n, err := fika.ParseAgentName(o.agent)
		return s.Prefix + ".agent." + string(n) + ".>", err
	case o.chat != "":
		n, err := fika.ParseChatName(o.chat)
		return s.Chat(n), err
	}
	return s.All(), nil
}

func (o *monitorOptions) follow(ctx context.Context, s bus.Subjects, subject string, lines <-chan bus.Msg, states <-chan bus.State) error {
	last := bus.State("")
	for {
		select {
		case <-ctx.Done():
			return nil
		case st := <-states:
			if st == last {
				continue
			}
			switch {
			case st == bus.Connected:
				o.say("%s", o.ErrStyle().Dim("listening to "+subject))
			case last == bus.Connected:
				o.warn("the bus is away; waiting for it")
			}
			last = st
		case m := <-lines:
			kind := kindOf(s, m.Subject)
			if o.kind != "" && kind != o.kind {
				continue
			}
			show := func() error { return o.line(s, kind, m) }
			if o.json {
				show = func() error { return o.jsonLine(m) }
			}
			if err := show(); err != nil {
				return err
			}
		}
	}
}

// kindOf is what a subject carries.
func kindOf(s bus.Subjects, subject string) string {
	rest := strings.TrimPrefix(subject, s.Prefix+".")
	switch {
	case strings.HasPrefix(rest, "chat."):
		return "chat"
	case rest == "dead":
		return "dead"
	case rest == "hub.bell":
		return "bell"
	}
	return rest[strings.LastIndexByte(rest, '.')+1:]
}

type monitorJSON struct {
	At      time.Time       `json:"at"`
	Subject string          `json:"subject"`
	Body    json.RawMessage `json:"body"`
	Text    nullable        `json:"text"` // a body that is no JSON
}

func (o *monitorOptions) jsonLine(m bus.Msg) error {
	line := monitorJSON{At: time.Now().UTC(), Subject: m.Subject}
	if json.Valid(m.Data) && utf8.Valid(m.Data) {
		line.Body = m.Data
	} else {
		line.Text = nullable(strings.ToValidUTF8(string(m.Data), "�"))
	}
	return o.printLine(line)
}

// line shows a message on one line: when, where, and what matters of it.
func (o *monitorOptions) line(s bus.Subjects, kind string, m bus.Msg) error {
	style := o.OutStyle()
	where := strings.TrimPrefix(m.Subject, s.Prefix+".")
	switch kind {
	case "response", "status":
		where = style.Green(where)
	case "dead":
		where = style.Red(where)
	case "request", "control", "chat":
		where = style.Yellow(where)
	default:
		where = style.Dim(where)
	}
	text := term.CleanLine(gist(kind, m.Data))
	if o.Width > 0 {
		text = term.Truncate(text, max(20, o.Width-term.Width(where)-15))
	}
	return o.printf("%s %s %s\n", style.Dim(time.Now().Format("15:04:05.000")), where, text)
}

// gist says the most of a body in a few words; what it does not know it shows
// as it is.
func gist(kind string, data []byte) string {
	switch kind {
	case "bell":
		return ""
	case "request":
		var r message.Request
		if json.Unmarshal(data, &r) == nil && r.Type != "" {
			return fmt.Sprintf("%s %s %q", r.Type, r.RequestID, r.Prompt)
		}
	case "response":
		var r message.Response
		if json.Unmarshal(data, &r) == nil && r.Status != "" {
			return fmt.Sprintf("%s %s (%d/%d tokens) %s%s", r.Status, r.RequestID, r.Result.TokensUsed.Input, r.Result.TokensUsed.Output, r.Error, r.Result.Content)
		}
	case "status":
		var st message.Status
		if json.Unmarshal(data, &st) == nil && st.Status != "" {
			d := st.Data
			detail := d.Message + d.Chunk
			if d.ToolName != "" {
				detail = d.ToolName + " " + detail
				if len(d.ToolArgs) > 0 {
					detail += agent.Subject(d.ToolArgs)
				}
			} else if d.Prompt != "" {
				detail = fmt.Sprintf("%s %q", d.Kind, d.Prompt)
			}
			return fmt.Sprintf("%s %s %s", st.Status, st.RequestID, detail)
		}
	case "heartbeat":
		var h message.Heartbeat
		if json.Unmarshal(data, &h) == nil && h.Status != "" {
			return fmt.Sprintf("%s up %s, %d requests %s", h.Status, term.Duration(time.Duration(h.Uptime)*time.Second), h.RequestsProcessed, h.CurrentConversationID)
		}
	case "chat":
		var e fika.Entry
		if json.Unmarshal(data, &e) == nil && e.From != "" {
			return fmt.Sprintf("#%d %s: %s", e.Seq, e.From, e.Content)
		}
	}
	var compact bytes.Buffer
	if json.Compact(&compact, data) == nil {
		return compact.String()
	}
	return string(data)
}
