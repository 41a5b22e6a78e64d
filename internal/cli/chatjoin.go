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

func newChatJoin(e *env) *cobra.Command {
	var history int
	c := &cobra.Command{
		Use: "join CHAT", Aliases: []string{"open"}, Short: "take part in a chat: read along, type, steer",
		Long: `Shows the last messages, then what arrives, and sends what you type. What
arrives never disturbs the line you are typing. Leaving changes nothing: the
conversation goes on.

` + joinHelp,
		Example: "  fika chat join design",
		Args:    exactly(1, "the name of a chat"), ValidArgsFunction: e.completeChats,
		RunE: func(cmd *cobra.Command, args []string) error { return e.join(cmd.Context(), args[0], history) },
	}
	c.Flags().IntVar(&history, "limit", 25, "how many of the last messages to show first")
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
}

func (e *env) join(ctx context.Context, word string, history int) error {
	client, err := e.client(ctx)
	if err != nil {
		return err
	}
	conv, err := findChat(ctx, client, word)
	if err != nil {
		return err
	}
	h, err := e.open().Home()
	if err != nil {
		return err
	}
	j := &joined{env: e, client: client, conv: conv}
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
	return j.run(ctx, history)
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
	live.looked = t.refresh
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
	if j.conv.Paused {
		note += "; it is PAUSED (/resume)"
	}
	j.note(note)
}

func (j *joined) note(text string) { j.con.Print(j.OutStyle().Dim(text)) }

func (j *joined) show(x fika.Entry) error {
	if !j.con.Interactive() {
		_, err := fmt.Fprintln(j.Out, entryLine(x))
		return err
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
			j.say(ctx, line)
		}
	}
}

func (j *joined) say(ctx context.Context, text string) {
	said, err := j.said(text, "")
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
			j.client.Ring(agents...)
			j.note("— " + map[string]string{"/pause": "paused; what is said now waits", "/resume": "resumed"}[word])
		}
	case "/stop":
		var d store.Dropped
		if d, err = j.client.Store.StopChat(ctx, j.conv.ID); err == nil {
			j.ringRequests(ctx, d.Requests)
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

func (j *joined) ringRequests(ctx context.Context, ids []fika.RequestID) {
	for _, id := range ids {
		if info, err := j.client.Store.Request(ctx, id); err == nil {
			j.client.Ring(info.AgentName)
		}
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
