package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fika"
	"fika/internal/attachment"
	"fika/internal/chat"
	"fika/internal/cli/command"
	"fika/internal/client"
	"fika/internal/console"
	"fika/internal/message"
	"fika/internal/question"
	"fika/internal/sleep"
	"fika/internal/term"
	"fika/internal/view"
)

// joined is one person in one chat.
type joined struct {
	*command.Env
	conn    *connection
	conv    atomic.Pointer[fika.Conversation]
	con     *console.Console
	page    Page
	feed    *view.Feed
	turns   *view.Statuses
	as      client.Alias
	lease   *client.PauseLease // nil: it does not keep the chat paused
	session *session           // nil: it is no session
	desk    *question.Desk     // where the person is asked about tool calls
	notify  *notifier          // nil: the terminal is told nothing
	spoken  chan struct{}      // capacity 1: something was said, for which a hub is wanted
	files   []attachment.File  // what goes with the line that is being carried out
	next    *console.Line      // was entered instead of an answer, and is the next line

	mu    sync.Mutex
	waits []view.Worker   // what has not begun, and why
	said  map[string]bool // notes about troubles, each of which is said once
}

// chat is the chat as it was when it was joined, with the name it has now.
func (j *joined) chat() fika.Conversation { return *j.conv.Load() }

// renamed is called when the chat has got another name.
func (j *joined) renamed(now fika.Conversation) {
	conv := j.chat()
	conv.Name = now.Name
	j.conv.Store(&conv)
	j.con.SetPrompt(j.prompt())
}

// client is what may be asked now.
func (j *joined) client() *client.Client {
	c, _ := j.conn.now()
	return c
}

// openConsole makes the line to type into, and what is shown above it.
func (j *joined) openConsole(history string) (err error) {
	o := console.Options{
		Streams: j.Streams, Prompt: j.prompt(), HistoryFile: history,
		Complete: j.complete, Chip: j.chipIn, Echo: j.echo,
	}
	if j.session != nil {
		o.OnInterrupt = j.interrupt
	}
	if j.con, err = console.New(o); err != nil {
		return err
	}
	j.feed = view.NewFeed(j.con, view.Options{
		Style: j.OutStyle(), Links: j.page.links, Person: j.page.Person, Names: true, Width: j.con.Width, Standing: j.standing,
	})
	j.turns = view.NewStatuses(j.feed)
	if conf, err := j.App().Config(); err == nil && conf.Terminal.Notify && j.con.Interactive() && j.Color {
		j.notify = &notifier{place: string(j.chat().Name)}
		if name, _ := place(j.Env); j.session != nil && name != "fika" {
			j.notify.place = name
		}
	}
	return nil
}

// echo is what stays of a line that was typed: a command, above what it says.
// A message is shown when it has been stored, as everybody sees it.
func (j *joined) echo(line string) string {
	if text := strings.TrimSpace(line); strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//") {
		return j.OutStyle().Dim(j.prompt() + term.CleanLine(text))
	}
	return ""
}

// standing is the status line: who does what, what waits for what, what was
// spent, what is asked.
func (j *joined) standing(busy []view.Worker) view.Standing {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := slices.Concat(busy, slices.DeleteFunc(slices.Clone(j.waits), func(w view.Worker) bool { // they were looked at a moment ago
		return !strings.HasPrefix(w.Doing, isNext) && slices.ContainsFunc(busy, func(b view.Worker) bool { return b.Name == w.Name })
	}))
	st := view.Standing{Workers: all, Note: j.conn.trouble()}
	if j.session != nil {
		st.Workers = j.session.withIdle(all)
		spent, unpriced := j.session.spending()
		st.Tokens, st.Cost, st.Unpriced, st.Budget = spent.Input+spent.Output, spent.Cost, unpriced, j.session.scarceBudget()
	}
	st.Approvals = j.desk.OpenNumbers()
	return st
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
		j.Say("%s goes on", j.chat().Name)
	default:
		if c, err := j.client().Chats.ByID(context.Background(), j.chat().ID); err == nil && c.Paused {
			j.Say("%s is still paused (fika chat resume %s)", j.chat().Name, j.chat().Name)
		}
	}
}

// run shows what arrives, keeps a hub, and reads lines in this goroutine.
func (j *joined) run(ctx context.Context, stop context.CancelFunc, history int) error {
	last, err := j.showHistory(ctx, history)
	if err != nil {
		return err
	}
	j.welcome()
	looker := j.App().CloneUnopened() // an App is for one goroutine
	defer looker.Close()
	var wg sync.WaitGroup
	wg.Go(func() { j.follow(ctx, max(last, sinceIfEmpty(last, j.chat()))) })
	if j.con.Interactive() {
		wg.Go(func() { j.keepHub(ctx, client.HubOf(looker)) })
	}
	err = j.read(ctx)
	stop()
	wg.Wait()
	return err
}

// showHistory prints what was said last: in a session also what was done, and
// everything since its person has last said something, which they may not have
// seen.
func (j *joined) showHistory(ctx context.Context, limit int) (last int64, err error) {
	q := client.EntryQuery{Conversation: j.chat().ID, Types: shownTypes(j.session != nil), Last: limit}
	if j.session != nil {
		var recent []fika.Entry
		if recent, err = j.session.recent(ctx, j.client(), q); err != nil {
			return 0, err
		}
		if len(recent) > 0 {
			j.feed.Print(j.session.begin(j, recent[0].Seq == 1).replay(recent))
			j.session.resume(recent)
			last = recent[len(recent)-1].Seq
		}
		return last, nil
	}
	return j.client().Chats.Read(ctx, q, j.show)
}

// follow shows what arrives until ctx ends, through the client of the moment.
// What goes wrong is told, and tried again.
func (j *joined) follow(ctx context.Context, since int64) {
	for ctx.Err() == nil {
		c, lives := j.conn.now()
		if err := j.watch(lives, c, &since); err != nil && lives.Err() == nil {
			j.noteOnce("cannot read the chat, trying again: " + err.Error())
			_ = sleep.For(lives, time.Second)
		}
	}
}

func (j *joined) watch(ctx context.Context, c *client.Client, since *int64) error {
	live, err := c.Chats.Watch(j.chat())
	if err != nil {
		return err
	}
	defer live.Close()
	stopListening, err := c.Chats.Statuses(j.chat(), j.status)
	if err != nil {
		return err
	}
	defer func() { stopListening() }()
	live.Renamed = func(now fika.Conversation) error {
		j.renamed(now)
		next, err := c.Chats.Statuses(now, j.status)
		if err == nil {
			stopListening()
			stopListening = next
		}
		return err
	}
	live.AfterLook = func(ctx context.Context) { j.lookAround(ctx, c) }
	q := client.EntryQuery{Conversation: j.chat().ID, Types: shownTypes(false), Since: *since}
	return live.Run(ctx, q, func(x fika.Entry) error {
		err := j.arrived(x)
		*since = x.Seq
		return err
	})
}

// lookAround finds out who is at work, what waits and for what.
func (j *joined) lookAround(ctx context.Context, c *client.Client) {
	running, err := c.Chats.Running(ctx, j.chat())
	if err == nil {
		j.turns.Running(running)
		defer func() { j.tellTerminal(slices.Sorted(maps.Values(running))) }()
	}
	queue, err := c.Chats.Queue(ctx, j.chat().ID)
	if err != nil && ctx.Err() == nil {
		j.noteOnce("cannot see what waits: " + err.Error())
	}
	if err == nil {
		waits := j.waiting(queue)
		j.mu.Lock()
		j.waits = waits
		j.mu.Unlock()
	}
	if runs, err := j.runs(ctx); err == nil {
		j.mu.Lock()
		j.waits = append(j.waits, ofRuns(runs)...)
		j.mu.Unlock()
	}
	j.lookAtApprovals(ctx, c)
	if j.session != nil {
		j.session.count(ctx, c, j.chat())
	}
	if err := j.lease.Renew(ctx); err != nil {
		j.noteOnce("you do not hold the chat any more: " + err.Error())
	}
	j.feed.Refresh()
}

// tellTerminal tells the terminal who is at work, and what its person would want
// to know who looks elsewhere.
func (j *joined) tellTerminal(busy []string) {
	if j.notify == nil {
		return
	}
	j.con.Tell(j.notify.look(busy, len(j.desk.OpenNumbers()), j.Now()))
}

// waiting is what of a queue has not begun, as the status line tells it. What
// goes on only when the person does something is told in full, once.
func (j *joined) waiting(queue []client.QueueItem) []view.Worker {
	var out []view.Worker
	for _, q := range queue {
		if q.IsOver() || q.Place == chat.PlaceRunning {
			continue
		}
		doing := "waits: " + strings.TrimPrefix(q.Text, "waits ")
		if itself, ok := strings.CutPrefix(q.Text, "@"+string(q.Agent)+" "); ok {
			doing = itself // the name stands before it
		}
		switch {
		case q.Why == string(fika.WaitApproval):
			doing = "waits for your word"
		case q.Stuck:
			j.noteOnce(fmt.Sprintf("@%s waits: %s", q.Agent, whyItem(q, j.Now())))
			doing = "waits (/why)"
		case q.Why == "busy":
			doing = isNext + "; " + strings.TrimPrefix(q.Text, "@"+string(q.Agent)+" ")
		}
		out = append(out, view.Worker{Name: string(q.Agent), Doing: doing, Since: q.Since})
	}
	return out
}

// isNext says that an agent is at work on something else.
const isNext = "yours is next"

func sinceIfEmpty(last int64, c fika.Conversation) int64 {
	if last == 0 {
		return c.LastSeq
	}
	return last
}

func (j *joined) welcome() {
	if j.session != nil {
		if j.session.script == nil {
			j.session.begin(j, true)
		}
		j.note(j.session.welcome(j))
		if j.session.fresh {
			j.note("— a new session, the chat " + string(j.chat().Name))
		}
		return
	}
	note := fmt.Sprintf("— in %s; /help lists the commands, /quit leaves", j.chat().Name)
	switch {
	case j.lease != nil && j.lease.First:
		note += "; you hold it: nothing new begins before you leave"
	case j.chat().Paused:
		note += "; it is PAUSED (/resume)"
	}
	j.note(note)
}

func (j *joined) note(text string) {
	if !j.con.Interactive() {
		j.Say("%s", text) // what is said in the chat alone goes to stdout
		return
	}
	j.feed.Print(j.OutStyle().Dim(term.Wrap(term.CleanLine(text), j.con.Width()-1)))
}

// noteOnce says something about a trouble that may last.
func (j *joined) noteOnce(text string) {
	j.mu.Lock()
	known := j.said[text]
	j.said[text] = true
	j.mu.Unlock()
	if !known {
		j.note("— " + text)
	}
}

// statusLag is how long the answer of a turn waits for what the bus tells of the
// turn: the calls before it should be seen before it.
const statusLag = 300 * time.Millisecond

// status shows what an agent tells of its turn; what it says only where it is
// rendered.
func (j *joined) status(s message.Status) {
	if !j.con.Interactive() {
		return // a program reads what is said
	}
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
			if j.session == nil {
				note = fmt.Sprintf("#%d", x.Seq)
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
	if j.session != nil {
		j.session.script.page.look.Width, j.session.script.agents = j.con.Width(), j.session.known()
		j.feed.Print(j.session.script.entry(x))
		return nil
	}
	if text := strings.TrimRight(j.page.Entry(client.Node{Entry: x}, nil), "\n"); text != "" {
		j.feed.Print("\n" + text)
	}
	return nil
}

func (j *joined) read(ctx context.Context) error {
	for {
		line, err := j.nextLine(ctx)
		if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
			return nil
		}
		if err != nil {
			return err
		}
		text := strings.TrimSpace(line)
		switch {
		case text == "":
		case strings.HasPrefix(text, "//"):
			j.sendTyped(ctx, strings.Replace(line, "/", "", 1))
		case strings.HasPrefix(text, "/"):
			if err := j.obey(ctx, text); errors.Is(err, errLeave) {
				return nil
			} else if errors.Is(err, errAnother) {
				return err
			}
		default:
			j.sendTyped(ctx, line)
		}
	}
}

// nextLine gives the text of the next line, with the files that its chips stand
// for in j.files. A line whose files cannot be sent is told of and passed over.
func (j *joined) nextLine(ctx context.Context) (string, error) {
	for {
		line, err := console.Line{}, error(nil)
		if j.next != nil {
			line, j.next = *j.next, nil
		} else if line, err = j.con.Read(ctx); err != nil {
			return "", err
		}
		var text string
		if text, j.files, err = j.readChips(ctx, line); err == nil {
			return strings.TrimRight(text, " \n"), nil
		}
		j.notSent(err)
	}
}

func (j *joined) notSent(err error) {
	j.note("— not sent: " + err.Error() + " (arrow up brings the line back)")
}

// sendTyped is send for what somebody has typed: another agent may be proposed for
// it. What a command of theirs says is not asked about.
func (j *joined) sendTyped(ctx context.Context, text string) {
	if j.session != nil {
		if err := j.propose(ctx, text); err != nil {
			j.notSent(err)
			return
		}
	}
	j.send(ctx, text)
}

func (j *joined) send(ctx context.Context, text string) {
	var err error
	if j.session != nil {
		if _, team, _ := client.TeamLine(text); team {
			if err := j.sendTeam(ctx, text); err != nil {
				j.notSent(err)
			}
			return
		}
		if text, err = j.session.address(ctx, j, text); err != nil {
			j.note("— " + err.Error())
			return
		}
	}
	select {
	case j.spoken <- struct{}{}:
	default:
	}
	sent, err := j.deliver(ctx, text)
	if err != nil {
		j.notSent(err)
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
