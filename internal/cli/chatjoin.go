package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/app"
	"fika/internal/chat"
	"fika/internal/console"
	"fika/internal/store"
)

// joinOptions are the flags of chat join.
type joinOptions struct {
	history int
	pause   bool
	as      string
}

func newChatJoin(e *env) *cobra.Command {
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
		Args:    exactly(1, "the name of a chat"), ValidArgsFunction: first(e.completeChats),
		RunE: func(cmd *cobra.Command, args []string) error { return e.join(cmd.Context(), args[0], o) },
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
	*env
	client *app.Client
	conv   fika.Conversation
	con    *console.Console
	page   page
	as     string
	hold   *hold // nil: it does not hold the chat
}

func (e *env) join(ctx context.Context, word string, o joinOptions) error {
	said, err := e.said("", o.as)
	if err != nil {
		return err
	}
	client, conv, err := e.chatFor(ctx, word)
	if err != nil {
		return err
	}
	if err := e.open().MayBeCalled(ctx, said.From, said.Username); err != nil {
		return err
	}
	h, err := e.open().Home()
	if err != nil {
		return err
	}
	if err := client.Chats().Enter(ctx, conv, said.From); err != nil {
		return err
	}
	j := &joined{env: e, client: client, conv: conv, as: o.as}
	if j.page, err = newPage(ctx, client, conv, e.OutStyle()); err != nil {
		return err
	}
	j.con, err = console.New(console.Options{
		Streams: e.Streams, Prompt: string(conv.Name) + "> ", HistoryFile: filepath.Join(h.RunDir(), "history"),
		Complete: j.complete, Echo: func(string) string { return "" },
	})
	if err != nil {
		return err
	}
	defer j.con.Close()
	if o.pause {
		if j.hold, err = holdChat(ctx, client, conv, said.From); err != nil {
			return err
		}
		defer j.letGo()
	}
	return j.run(ctx, o.history)
}

// letGo ends the hold, whatever ended the joining.
func (j *joined) letGo() {
	_ = j.con.Close() // its last words come below the line
	resumed, err := j.hold.letGo()
	switch {
	case err != nil:
		j.warn(err.Error())
	case resumed:
		j.say("%s goes on", j.conv.Name)
	default:
		if c, err := j.client.Store.ConversationByID(context.Background(), j.conv.ID); err == nil && c.Paused {
			j.say("%s is still paused (fika chat resume %s)", j.conv.Name, j.conv.Name)
		}
	}
}

// run shows what arrives in one goroutine and reads lines in this one.
func (j *joined) run(ctx context.Context, history int) error {
	live, err := followChat(j.client, j.conv)
	if err != nil {
		return err
	}
	defer live.Close()
	t := newTyping(j.client, j.conv, func(line string) { j.con.Status(j.OutStyle().Dim(line)) })
	deaf, err := t.listen()
	if err != nil {
		return err
	}
	defer deaf()
	live.looked = func(ctx context.Context) {
		t.refresh(ctx)
		if err := j.hold.keep(ctx); err != nil {
			j.note("— you do not hold the chat any more: " + err.Error())
		}
	}
	q := store.EntryQuery{Conversation: j.conv.ID, Types: shownTypes(false), Last: history}
	last, err := showEntries(ctx, j.client, q, j.show)
	if err != nil {
		return err
	}
	j.welcome()
	watching, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { // joined below
		done <- live.run(watching, store.EntryQuery{Conversation: j.conv.ID, Types: q.Types, Since: max(last, sinceIfEmpty(last, j.conv))}, j.show)
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
	note := fmt.Sprintf("— in %s; /help lists the commands, /quit leaves", j.conv.Name)
	switch {
	case j.hold != nil && j.hold.first:
		note += "; you hold it: nothing new begins before you leave"
	case j.conv.Paused:
		note += "; it is PAUSED (/resume)"
	}
	j.note(note)
}

func (j *joined) note(text string) { j.con.Print(j.OutStyle().Dim(text)) }

func (j *joined) show(x fika.Entry) error {
	if !j.con.Interactive() {
		return j.println(entryLine(x, false))
	}
	j.con.Print(strings.TrimRight(j.page.entry(chat.Node{Entry: x}, nil), "\n"))
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
		case strings.HasPrefix(text, "/"):
			j.command(ctx, text)
		default:
			j.send(ctx, line)
		}
	}
}

func (j *joined) send(ctx context.Context, text string) {
	said, err := j.said(text, j.as)
	if err != nil {
		j.note(err.Error())
		return
	}
	sent, err := j.client.Chats().Send(ctx, j.conv, said)
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
	word := strings.Fields(text)[0]
	var err error
	switch word {
	case "/pause", "/resume":
		var agents []fika.AgentName
		if agents, err = j.client.Store.SetPaused(ctx, j.conv.ID, word == "/pause"); err == nil {
			if word == "/resume" {
				j.hold.over()
			}
			j.client.Ring(agents...)
			j.note("— " + map[string]string{"/pause": "paused; what is said now waits", "/resume": "resumed"}[word])
		}
	case "/stop":
		var d store.Dropped
		if d, err = j.client.Store.StopChat(ctx, j.conv.ID); err == nil {
			ringRequests(ctx, j.client, d.Requests)
			j.note(fmt.Sprintf("— %d waiting mentions dropped, %d running turns cancelled", d.Notifications, len(d.Requests)))
		}
	case "/continue":
		var agents []fika.AgentName
		if agents, err = j.client.Store.ContinueChain(ctx, j.conv.ID); err == nil {
			j.client.Ring(agents...)
			j.note("— goes on with " + mentions(agents))
		}
	case "/who":
		var names []string
		if names, err = j.client.Store.Participants(ctx, j.conv.ID); err == nil {
			j.note("— " + strings.Join(names, " "))
		}
	case "/help":
		j.con.Print(joinHelp)
	default:
		j.note(fmt.Sprintf("— no command %s; /help lists them (a message cannot begin with /)", word))
	}
	if err != nil {
		j.note("— " + err.Error())
	}
}

// ringRequests rings the agents of requests that were asked to stop.
func ringRequests(ctx context.Context, c *app.Client, ids []fika.RequestID) {
	for _, id := range ids {
		c.RingStopped(ctx, id)
	}
}

// complete offers agents after @ and commands after /.
func (j *joined) complete(line string, pos int) []console.Completion {
	head := line[:pos]
	if strings.HasPrefix(head, "/") && !strings.ContainsAny(head, " \t") {
		var out []console.Completion
		for _, c := range []string{"/pause", "/resume", "/stop", "/continue", "/who", "/help", "/quit"} {
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
	agents, err := j.client.Store.ListAgents(context.Background())
	if err != nil {
		return nil
	}
	var out []console.Completion
	for _, a := range agents {
		if strings.HasPrefix(string(a.Name), strings.ToLower(head[at+1:])) {
			out = append(out, console.Completion{Start: at, Text: "@" + string(a.Name) + " "})
		}
	}
	return out
}
