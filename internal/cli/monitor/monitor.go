package monitor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/agent"
	"fika/internal/bus/message"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/system/term"
)

// monitorOptions are the flags of monitor.
type monitorOptions struct {
	*command.Env
	agent, chat, kind string
	json              bool
	log               string
	logSize           int64 // MiB
	logKeep           int
	subject           string // the subject it listens to
}

// The defaults: how large a log may become, in MiB, and how many older files are kept.
const (
	defaultLogSize = 64
	defaultLogKeep = 4
)

// New returns the command fika monitor.
func New(e *command.Env) *cobra.Command {
	o := &monitorOptions{Env: e}
	c := &cobra.Command{
		Use: "monitor [SUBJECT]", Short: "follow the messages on the bus",
		Long: `Shows every message on the bus of this home, as a subscriber to PREFIX.> sees
it, or those on the given subject ("agent.*.status"; the prefix may be left
out). --type keeps one kind: request, bell, response, status, heartbeat,
control, chat, dead, idle; the last only if it is asked for. While no hub runs,
the command says so and waits.

--log FILE writes the messages to a file instead of showing them, in the form of
--json: one JSON object per line. It appends to an existing file. Before the
file becomes larger than --log-size MiB it is renamed to FILE.1, and that to
FILE.2; --log-keep says how many of these are kept. When another program moves
the file away, a new one is begun. The file also records from when to when the
command has listened, as lines with "note" in place of a subject. Messages hold
what agents and people say: only you can read the file.`,
		Example: "  fika bus monitor\n  fika bus monitor --agent coder --type status\n  fika bus monitor --json | jq .body\n  fika bus monitor --log traffic.jsonl",
		Args:    command.AtMostOne("a subject"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("log") && o.log == "" {
				return command.UsageError("--log needs the name of a file")
			}
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
	f.BoolVar(&o.json, "json", false, "print JSON Lines: at, subject, body (or text)")
	f.StringVar(&o.log, "log", "", "write the messages to this file, which is rotated, as JSON Lines")
	f.Int64Var(&o.logSize, "log-size", defaultLogSize, "how large the file may become, in MiB")
	f.IntVar(&o.logKeep, "log-keep", defaultLogKeep, "how many older files to keep")
	_ = c.RegisterFlagCompletionFunc("log", complete.FileNames)
	_ = c.RegisterFlagCompletionFunc("agent", complete.AgentNames(e))
	_ = c.RegisterFlagCompletionFunc("chat", complete.ChatNames(e))
	_ = c.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(service.BusKinds(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (o *monitorOptions) run(ctx context.Context, subject string) (err error) {
	show := service.MonitorShow{Message: o.line, Connected: o.sayConnected, Dropped: o.sayDropped}
	if o.json {
		show.Message = o.jsonLine
	}
	if o.log != "" {
		log, wrong := o.openLog()
		if wrong != nil {
			return wrong
		}
		defer func() { err = errors.Join(err, log.Close()) }()
		show = o.noted(log, show)
	} else if o.logSize != defaultLogSize || o.logKeep != defaultLogKeep {
		return command.UsageError("--log-size and --log-keep are about --log FILE")
	}
	who, err := o.Principal()
	if err != nil {
		return err
	}
	m, err := service.OpenMonitor(ctx, o.App(), who, service.MonitorFilter{Subject: subject, Agent: o.agent, Chat: o.chat, Kind: o.kind})
	if err != nil {
		return err
	}
	if _, up, err := service.HubOf(o.App()).Process(); err != nil {
		return errors.Join(err, m.Close())
	} else if !up {
		o.Say("no hub is running; waiting for one (fika up)")
	}
	o.subject = m.Subject
	return errors.Join(m.Run(ctx, show), m.Close())
}

func (o *monitorOptions) sayConnected(connected bool) error {
	if connected {
		o.Say("%s", o.ErrStyle().Dim(o.listening()))
	} else {
		o.Warn(busAway)
	}
	return nil
}

func (o *monitorOptions) sayDropped(n int) error {
	o.Warn(dropped(n))
	return nil
}

const busAway = "the bus is away; waiting for it"

func (o *monitorOptions) listening() string { return "listening to " + o.subject }

func dropped(n int) string {
	return fmt.Sprintf("messages that came faster than they were written and are lost: %d", n)
}

// noted returns a MonitorShow that writes the messages to log, and also what say tells
// the person about the bus: a reader of the log should know what is missing from it.
func (o *monitorOptions) noted(log *rotatedLog, say service.MonitorShow) service.MonitorShow {
	return service.MonitorShow{
		Message: func(m service.BusMessage) error { return logLine(log, monitorToJSON(m)) },
		Connected: func(connected bool) error {
			text := busAway
			if connected {
				text = o.listening()
			}
			return errors.Join(say.Connected(connected), logLine(log, noteJSON{time.Now().UTC(), text}))
		},
		Dropped: func(n int) error {
			return errors.Join(say.Dropped(n), logLine(log, noteJSON{time.Now().UTC(), dropped(n)}))
		},
	}
}

// noteJSON is a line of a log that is not a message.
type noteJSON struct {
	At   time.Time `json:"at"`
	Note string    `json:"note"`
}

type monitorJSON struct {
	At      time.Time        `json:"at"`
	Subject string           `json:"subject"`
	Body    json.RawMessage  `json:"body"`
	Text    command.Nullable `json:"text"` // a body that is not JSON in UTF-8
}

func (o *monitorOptions) jsonLine(m service.BusMessage) error { return o.PrintLine(monitorToJSON(m)) }

// openLog opens the file of --log.
func (o *monitorOptions) openLog() (*rotatedLog, error) {
	switch {
	case o.json:
		return nil, command.UsageError("--log writes JSON Lines into a file, --json to stdout: use one of them")
	case o.logSize < 1 || o.logSize > 1<<20:
		return nil, command.UsageError("--log-size is a number of MiB from 1 on, not %d", o.logSize)
	case o.logKeep < 1 || o.logKeep > 1000:
		return nil, command.UsageError("--log-keep is a number from 1 to 1000, not %d", o.logKeep)
	}
	return openRotatedLog(o.log, o.logSize<<20, o.logKeep)
}

func logLine(log *rotatedLog, line any) error {
	data, err := command.PlainJSON(line)
	if err != nil {
		return err
	}
	return log.Line(bytes.TrimRight(data, "\n"))
}

func monitorToJSON(m service.BusMessage) monitorJSON {
	line := monitorJSON{At: time.Now().UTC(), Subject: m.Subject}
	if json.Valid(m.Data) && utf8.Valid(m.Data) {
		line.Body = m.Data
	} else {
		line.Text = command.Nullable(strings.ToValidUTF8(string(m.Data), "�"))
	}
	return line
}

// line shows a message on one line: the time, the place and the gist.
func (o *monitorOptions) line(m service.BusMessage) error {
	style := o.OutStyle()
	where := m.Place
	switch m.Kind {
	case "response", "status":
		where = style.Green(where)
	case "dead":
		where = style.Red(where)
	case "request", "control", "chat":
		where = style.Yellow(where)
	default:
		where = style.Dim(where)
	}
	text := term.CleanLine(gist(m.Kind, m.Data))
	if o.Width > 0 {
		text = term.Truncate(text, max(20, o.Width-term.Width(where)-15))
	}
	return o.Printf("%s %s %s\n", style.Dim(time.Now().Format("15:04:05.000")), where, text)
}

// gist returns the gist of a body in a few words. It returns a body of an unknown form
// in full.
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
					detail += agent.MainArgument(d.ToolArgs)
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
