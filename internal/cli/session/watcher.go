package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/cli/command"
	"fika/internal/cli/input"
	"fika/internal/cli/page"
	"fika/internal/cli/screen"
	"fika/internal/service"
	"fika/internal/system/sleep"
	"fika/internal/terminal/question"
	"fika/internal/terminal/view"
	"fika/internal/text/words"
)

// watcher shows what happens in a chat while a person is in it: what is said, what
// agents do, what waits and for what.
type watcher struct {
	env     *command.Env
	chat    *joinedChat
	screen  *screen.Screen
	input   *input.Reader
	desk    *question.Desk // what the person is asked about tool calls
	asker   *asker
	lease   *service.PauseLease // nil: the person does not keep the chat paused
	session *session            // nil: the chat is not a session
	queued  *inputs
	jobs    *jobs
	mode    *modeShown

	mu    sync.Mutex
	waits []view.Worker // work that has not begun, and why; agents at work in runs of teams
}

// run shows the entries after since until ctx ends, through the present service. It
// reports an error and tries again.
func (w *watcher) run(ctx context.Context, since int64) {
	for ctx.Err() == nil {
		c, lives := w.chat.conn.now()
		if err := w.follow(lives, c, &since); err != nil && lives.Err() == nil {
			w.screen.NoteOnce("cannot read the chat, trying again: " + err.Error())
			_ = sleep.For(lives, time.Second)
		}
	}
}

// follow shows the entries after since through one service until ctx ends, and keeps
// since at the last one shown.
func (w *watcher) follow(ctx context.Context, c *service.Service, since *int64) error {
	conv := w.chat.conversation()
	live, err := c.Chats.Watch(conv)
	if err != nil {
		return err
	}
	defer live.Close()
	if err := live.ShowStatuses(ctx, conv, w.screen.ShowStatus); err != nil {
		return err
	}
	w.screen.MissedStatuses() // of turns before that
	live.Renamed = func(now fika.Conversation) error {
		w.chat.rename(now.Name)
		w.input.ShowPrompt()
		return nil
	}
	live.AfterLook = func(ctx context.Context) { w.lookAround(ctx, c) }
	q := service.EntryQuery{Conversation: conv.ID, Types: page.ShownTypes(false), Since: *since}
	return live.Run(ctx, q, func(x fika.Entry) error {
		err := w.screen.ShowNew(x, c.Connected(), func(id fika.RequestID) []view.Call { return callsOf(ctx, c, x, id) })
		*since = x.Seq
		w.asker.notePlan(x)
		return err
	})
}

// callsOf reads the tool calls of the turn that an entry ended, as far as they are among
// the last of the chat; none if they cannot be read, since /expand can show them.
func callsOf(ctx context.Context, c *service.Service, end fika.Entry, id fika.RequestID) []view.Call {
	const last = 200
	q := service.EntryQuery{Conversation: end.Conversation, Upto: end.Seq, Types: []fika.EntryType{fika.ToolCall, fika.ToolResult}, Last: last}
	var entries []fika.Entry
	_, err := c.Chats.Read(ctx, q, func(x fika.Entry) error {
		if x.Request == id {
			entries = append(entries, x)
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return page.TurnCalls(entries)
}

// lookAround finds out who is at work, what waits, what the person is asked and what was
// spent, and refreshes the status line. It also renews the lease that pauses the chat.
func (w *watcher) lookAround(ctx context.Context, c *service.Service) {
	conv := w.chat.conversation()
	running, err := c.Chats.Running(ctx, conv)
	if err == nil {
		w.screen.ShowRunning(running)
		defer func() { w.screen.TellTerminal(slices.Sorted(maps.Values(running)), len(w.desk.OpenNumbers())) }()
	}
	w.lookAtQueue(ctx, c)
	if list, err := c.Chats.Inputs(ctx, conv); err == nil { // else the next look does
		w.queued.set(list)
	}
	w.jobs.look(ctx, c, conv)
	if now, err := c.Chats.ByID(ctx, conv.ID); err == nil {
		w.mode.set(now.Mode)
	}
	if news, err := w.desk.TakeNews(ctx, c.Approvals()); err == nil { // else the next look does
		w.asker.showNews(news)
	}
	if w.session != nil {
		w.session.cost.count(ctx, c, conv)
		w.session.fill.look(ctx, c, conv, w.session.agents.SpokenTo())
	}
	if err := w.lease.Renew(ctx); err != nil {
		w.screen.NoteOnce("you no longer hold the chat: " + err.Error())
	}
	w.screen.Refresh()
}

// lookAtQueue finds out what waits in the chat, and who works in runs of teams.
func (w *watcher) lookAtQueue(ctx context.Context, c *service.Service) {
	queue, err := c.Chats.Queue(ctx, w.chat.conversation().ID)
	if err != nil && ctx.Err() == nil {
		w.screen.NoteOnce("cannot see what waits: " + err.Error())
	}
	if err == nil {
		waits := w.waitingOf(ctx, c, queue)
		w.mu.Lock()
		w.waits = waits
		w.mu.Unlock()
	}
	if runs, err := w.chat.teamRuns(ctx); err == nil {
		w.mu.Lock()
		w.waits = append(w.waits, workersOfRuns(runs)...)
		w.mu.Unlock()
	}
}

// waitingOf returns the items of a queue that have not begun, for the status line. It
// reports, once and in full, an item that needs the person to do something.
func (w *watcher) waitingOf(ctx context.Context, c *service.Service, queue []service.QueueItem) []view.Worker {
	now := w.env.Now()
	var out []view.Worker
	for _, q := range queue {
		if q.IsOver() || q.IsRunning() {
			continue
		}
		x := view.Worker{Name: string(q.Agent), Doing: words.InSession(words.Brief(q.Status, now)), Since: q.Since, Next: q.Status.Code == api.WaitingBusy}
		switch {
		case q.Status.Code == api.WaitingApproval: // asked in full elsewhere
			x.Doing, x.Asks = "waits for your approval", true
		case q.WaitsForHub() && w.chat.conn.isTended(): // the status line says so
		case q.Stuck():
			instead := ""
			if other := c.Availability.InsteadOf(ctx, q.Agent); other != "" {
				instead = fmt.Sprintf("; what is said in a chat is not handed over, but @%s could be asked", other)
			}
			reason := page.Reason(q, now)
			if !strings.HasPrefix(reason, "@") { // else it says whose
				reason = fmt.Sprintf("@%s waits: %s", q.Agent, reason)
			}
			w.screen.NoteOnce(reason + instead)
			x.Doing = "waits (/why)"
		}
		out = append(out, x)
	}
	return out
}

// standing returns the status line: who does what, what waits for what, what was
// spent, what is asked. The feed calls it each time it draws.
func (w *watcher) standing(busy []view.Worker) view.Standing {
	w.mu.Lock()
	waits := slices.Clone(w.waits)
	w.mu.Unlock()
	shown := slices.DeleteFunc(slices.Clone(busy), func(b view.Worker) bool {
		return slices.ContainsFunc(waits, func(wait view.Worker) bool { return wait.Asks && wait.Name == b.Name })
	})
	workers := slices.Concat(shown, slices.DeleteFunc(waits, func(wait view.Worker) bool { // it was read a moment ago
		return !wait.Next && slices.ContainsFunc(shown, func(b view.Worker) bool { return b.Name == wait.Name })
	}))
	st := view.Standing{
		Workers: workers, Note: w.chat.conn.trouble(), Mode: w.mode.text(), Queued: w.queued.rows(w.desk.Person, busy), Jobs: w.jobs.text(),
	}
	if !w.screen.IsInteractive() { // elsewhere the question itself is there
		st.Approvals = w.desk.OpenNumbers()
	}
	if w.session != nil {
		st.Workers = w.session.withIdle(workers, w.jobs.doing)
		spent, unpriced := w.session.cost.soFar()
		st.Context, st.Since = w.session.fill.text(), w.session.since
		st.Spent, st.Unpriced, st.Budget = spent, unpriced, w.session.cost.scarceBudget()
	}
	return st
}
