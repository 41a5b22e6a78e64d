package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/client"
	"fika/internal/console"
	"fika/internal/message"
	"fika/internal/term"
	"fika/internal/view"
)

// joinOptions are the flags of chat join.
type joinOptions struct {
	history int
	pause   bool
	as      string
}

func newJoin(e *command.Env) *cobra.Command {
	var o joinOptions
	c := &cobra.Command{
		Use: "join CHAT", Aliases: []string{"open"}, Short: "take part in a chat: read along, type, steer",
		Long: `Shows the last messages, then what arrives, and sends what you type. What
arrives never disturbs the line you are typing. Leaving changes nothing: the
conversation goes on.

--pause holds the chat until you leave: running steps finish, nothing new
begins, what is said waits. If your terminal dies, or this program is killed,
the hub lets the chat go on 15 seconds later, with a notice in it; without a hub
that happens when the next one starts. A chat that was paused already stays so.

--as NAME speaks as somebody else, as fika chat send does.

` + joinHelp,
		Example: "  fika chat join design\n  fika chat join design --pause\n  fika chat join design --as bob",
		Args:    command.Exactly(1, "the name of a chat"), ValidArgsFunction: command.First(e.CompleteChats),
		RunE: func(cmd *cobra.Command, args []string) error { return join(cmd.Context(), e, args[0], o) },
	}
	c.Flags().IntVar(&o.history, "limit", 25, "how many of the last messages to show first")
	c.Flags().BoolVar(&o.pause, "pause", false, "hold the chat until you leave")
	c.Flags().StringVar(&o.as, "as", "", "name to speak as (default: your username)")
	return c
}

const joinHelp = `Commands:
  /pause      the brake: running steps finish, nothing new begins
  /resume     go on after a pause
  /stop       drop what waits, cancel what runs
  /continue   go on where a limit ended a chain
  /who        who takes part
  /help       this list
  /quit       leave (ctrl-D too)`

// joined is one person in one chat.
type joined struct {
	*command.Env
	client  *client.Client
	conv    fika.Conversation
	con     *console.Console
	page    Page
	feed    *view.Feed
	turns   *view.Statuses
	as      client.Alias
	lease   *client.PauseLease // nil: it does not keep the chat paused
	session *session           // nil: it is no session
}

func join(ctx context.Context, e *command.Env, word string, o joinOptions) error {
	c, conv, err := chatFor(ctx, e, word)
	if err != nil {
		return err
	}
	return joinChat(ctx, e, c, conv, o, nil)
}

// joinChat takes part in a chat until the person leaves; s is not nil in a
// session.
func joinChat(ctx context.Context, e *command.Env, c *client.Client, conv fika.Conversation, o joinOptions, s *session) error {
	h, err := e.App().Home()
	if err != nil {
		return err
	}
	as := client.Alias{Name: o.as, Option: "--as"}
	name, err := c.Chats.Enter(ctx, conv, as)
	if err != nil {
		return err
	}
	j := &joined{Env: e, client: c, conv: conv, as: as, session: s}
	if j.page, err = NewPage(ctx, e, c, conv, false); err != nil {
		return err
	}
	if err := j.openConsole(filepath.Join(h.RunDir(), "history")); err != nil {
		return err
	}
	defer j.con.Close()
	defer j.feed.Close()
	if o.pause {
		if j.lease, err = c.Chats.HoldPaused(ctx, conv, name); err != nil {
			return err
		}
		defer j.releaseLease()
	}
	return j.run(ctx, o.history)
}

// openConsole makes the line to type into, and what is shown above it.
func (j *joined) openConsole(history string) (err error) {
	o := console.Options{
		Streams: j.Streams, Prompt: string(j.conv.Name) + "> ", HistoryFile: history,
		Complete: j.complete, Echo: func(string) string { return "" },
	}
	shown := view.Options{Style: j.OutStyle(), Links: j.page.links, Person: j.page.person, Names: true}
	if j.session != nil {
		o.Prompt, o.OnInterrupt, shown.Standing = "> ", j.interrupt, j.session.standing
	}
	if j.con, err = console.New(o); err != nil {
		return err
	}
	shown.Width = j.con.Width
	j.feed = view.NewFeed(j.con, shown)
	j.turns = view.NewStatuses(j.feed)
	return nil
}

// releaseLease lets the chat go on, whatever ended the joining.
func (j *joined) releaseLease() {
	j.feed.Close()
	_ = j.con.Close() // its last words come below the line
	resumed, err := j.lease.Release()
	switch {
	case err != nil:
		j.Warn(err.Error())
	case resumed:
		j.Say("%s goes on", j.conv.Name)
	default:
		if c, err := j.client.Chats.ByID(context.Background(), j.conv.ID); err == nil && c.Paused {
			j.Say("%s is still paused (fika chat resume %s)", j.conv.Name, j.conv.Name)
		}
	}
}

// run shows what arrives in one goroutine and reads lines in this one.
func (j *joined) run(ctx context.Context, history int) error {
	live, err := j.client.Chats.Watch(j.conv)
	if err != nil {
		return err
	}
	defer live.Close()
	stopListening, err := j.client.Chats.Statuses(j.conv, j.status)
	if err != nil {
		return err
	}
	defer stopListening()
	live.AfterLook = func(ctx context.Context) {
		if running, err := j.client.Chats.Running(ctx, j.conv); err == nil {
			j.turns.Running(running)
		}
		j.lookAtApprovals(ctx)
		if err := j.lease.Renew(ctx); err != nil {
			j.note("— you do not hold the chat any more: " + err.Error())
		}
	}
	q := client.EntryQuery{Conversation: j.conv.ID, Types: shownTypes(false), Last: history}
	last, err := j.client.Chats.Read(ctx, q, j.show)
	if err != nil {
		return err
	}
	j.welcome()
	watching, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { // joined below
		done <- live.Run(watching, client.EntryQuery{Conversation: j.conv.ID, Types: q.Types, Since: max(last, sinceIfEmpty(last, j.conv))}, j.arrived)
	}()
	err = j.read(ctx)
	stop()
	return errors.Join(err, <-done)
}

func sinceIfEmpty(last int64, c fika.Conversation) int64 {
	if last == 0 {
		return c.LastSeq
	}
	return last
}

func (j *joined) welcome() {
	if j.session != nil {
		j.note(j.session.welcome(j))
		return
	}
	note := fmt.Sprintf("— in %s; /help lists the commands, /quit leaves", j.conv.Name)
	switch {
	case j.lease != nil && j.lease.First:
		note += "; you hold it: nothing new begins before you leave"
	case j.conv.Paused:
		note += "; it is PAUSED (/resume)"
	}
	j.note(note)
}

func (j *joined) note(text string) {
	if !j.con.Interactive() {
		j.con.Print(text)
		return
	}
	j.feed.Print(j.OutStyle().Dim(term.CleanLine(text)))
}

// statusLag is how long the answer of a turn waits for what the bus tells of the
// turn: the calls before it should be seen before it.
const statusLag = 300 * time.Millisecond

// status shows what an agent tells of its turn; what it says only where it is
// rendered.
func (j *joined) status(s message.Status) {
	if s.Status == "streaming" && !j.page.render {
		j.feed.Busy(s.RequestID, s.AgentName, "writing")
		return
	}
	j.turns.Show(s)
}

// arrived shows an entry that was committed while we were here: what an agent
// said may be on the screen already, as it was streamed.
func (j *joined) arrived(x fika.Entry) error {
	if j.con.Interactive() && j.page.render && x.Type == fika.Message && x.Meta.Writer == fika.ByAgent && x.Request != "" {
		note := ""
		if x.Meta.Final {
			note = fmt.Sprintf("#%d", x.Seq)
			if j.session != nil {
				j.session.spend(x.Meta.Usage)
			}
			ctx, stop := context.WithTimeout(context.Background(), statusLag)
			j.turns.AwaitEnd(ctx, string(x.Request))
			stop()
		}
		j.turns.Kept(string(x.Request), x.From, x.Content, note, x.Meta.Final)
		return nil
	}
	return j.show(x)
}

func (j *joined) show(x fika.Entry) error {
	if !j.con.Interactive() {
		return j.Println(entryLine(x, false))
	}
	j.feed.Print("\n" + strings.TrimRight(j.page.Entry(client.Node{Entry: x}, nil), "\n"))
	return nil
}

func (j *joined) read(ctx context.Context) error {
	for {
		line, err := j.con.ReadLine(ctx)
		if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
			return nil
		}
		if err != nil {
			return err
		}
		text := strings.TrimSpace(line)
		switch {
		case text == "":
		case text == "/quit" || text == "/exit" || text == "/q":
			return nil
		case text == "/new" && j.session != nil:
			return errAnother
		case strings.HasPrefix(text, "/"):
			j.command(ctx, text)
		default:
			j.send(ctx, line)
		}
	}
}

func (j *joined) send(ctx context.Context, text string) {
	if j.session != nil {
		text = j.session.address(text)
	}
	sent, err := j.client.Chats.Send(ctx, j.conv, text, j.as)
	if err != nil {
		j.note(err.Error())
		return
	}
	switch {
	case sent.Paused:
		j.note("— paused: nobody answers before /resume")
	case sent.Nobody && sent.Person:
		j.note("— only a person is mentioned, so no agent answers")
	case sent.Nobody:
		j.note("— nobody is mentioned, so nobody answers")
	}
}

func (j *joined) command(ctx context.Context, text string) {
	words := strings.Fields(text)
	word := words[0]
	var err error
	if j.session != nil {
		var known bool
		if known, err = j.sessionCommand(ctx, words); known {
			if err != nil {
				j.note("— " + err.Error())
			}
			return
		}
	}
	switch word {
	case "/pause":
		if err = j.client.Chats.Pause(ctx, j.conv); err == nil {
			j.note("— paused; what is said now waits")
		}
	case "/resume":
		if err = j.client.Chats.Resume(ctx, j.conv); err == nil {
			j.lease.Forget()
			j.note("— resumed")
		}
	case "/stop":
		var d client.Dropped
		if d, err = j.client.Chats.Stop(ctx, j.conv); err == nil {
			j.note(fmt.Sprintf("— %d waiting mentions dropped, %d running turns cancelled", d.Notifications, len(d.Requests)))
		}
	case "/continue":
		var agents []fika.AgentName
		if agents, err = j.client.Chats.Continue(ctx, j.conv); err == nil {
			j.note("— goes on with " + mentions(agents))
		}
	case "/who":
		var names []string
		if names, err = j.client.Chats.Participants(ctx, j.conv); err == nil {
			j.note("— " + strings.Join(names, " "))
		}
	case "/help":
		j.feed.Print(joinHelp)
	default:
		j.note(fmt.Sprintf("— no command %s; /help lists them (a message cannot begin with /)", word))
	}
	if err != nil {
		j.note("— " + err.Error())
	}
}

// complete offers agents after @ and commands after /.
func (j *joined) complete(line string, pos int) []console.Completion {
	head := line[:pos]
	if strings.HasPrefix(head, "/") && !strings.ContainsAny(head, " \t") {
		var out []console.Completion
		commands := []string{"/pause", "/resume", "/stop", "/continue", "/who", "/help", "/quit"}
		if j.session != nil {
			commands = append(commands, "/agents", "/approve", "/why", "/cost", "/new")
		}
		for _, c := range commands {
			if strings.HasPrefix(c, head) {
				out = append(out, console.Completion{Start: 0, Text: c + " "})
			}
		}
		return out
	}
	at := strings.LastIndexByte(head, '@')
	if at < 0 || strings.ContainsAny(head[at:], " \t\n") {
		return nil
	}
	agents, err := j.client.Agents.Rows(context.Background())
	if err != nil {
		return nil
	}
	var out []console.Completion
	for _, a := range agents {
		if a.ID != "" && strings.HasPrefix(string(a.Name), strings.ToLower(head[at+1:])) {
			out = append(out, console.Completion{Start: at, Text: "@" + string(a.Name) + " "})
		}
	}
	return out
}
