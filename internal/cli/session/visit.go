package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/input"
	"fika/internal/cli/page"
	"fika/internal/cli/screen"
	"fika/internal/service"
	"fika/internal/terminal/question"
)

// visit is one person in one chat, from joining to leaving. It has up to three
// goroutines: its own reads lines, watcher shows events, hub keeps a hub at a terminal.
type visit struct {
	*command.Env
	chat    *joinedChat
	input   *input.Reader
	screen  *screen.Screen
	watcher *watcher
	sender  *sender
	hub     *hubKeeper
	desk    *question.Desk      // where the person is asked about tool calls
	lease   *service.PauseLease // nil: the person does not keep the chat paused
	session *session            // nil: the chat is not a session
	queued  *inputs
	jobs    *jobs
	mode    *modeShown
	beside  sync.WaitGroup // commands that go on while the person types
	script  *page.Script   // how the session shows entries; nil: not a session
	shell   shell
	thinks  bool // the reasoning of models is shown
}

// newVisit opens the terminal for a person who speaks as name in a chat; s is nil
// unless the chat is the person's session.
func newVisit(e *command.Env, chat *joinedChat, name string, shown page.Page, history string, s *session) (*visit, error) {
	v := &visit{Env: e, chat: chat, session: s, desk: &question.Desk{Person: name}, queued: &inputs{}, jobs: &jobs{}, mode: &modeShown{mode: chat.conversation().Mode}}
	if s == nil { // a session concerns everything that the person's agents do
		v.desk.Concerns = func(a service.OpenApproval) bool { return string(a.Conversation) == chat.name() }
	}
	in := input.Options{
		Env: e, History: history, Prompt: v.prompt, Agents: v.agentNames, Commands: v.commandNames, Arguments: v.argumentsOf,
		TakeBack: v.takeBack, BackTab: v.nextMode, Edit: editorOf(e, filepath.Dir(history)),
		Note: func(text string) { v.screen.Note(text) }, NotSent: func(why error) { v.screen.NoteNotSent(why) },
	}
	if s != nil {
		in.Interrupt, in.Escape = v.interrupt, v.escape
		v.script = page.NewScript(shown, name, s.agents.Names)
	}
	var err error
	if v.input, err = input.Open(in); err != nil {
		return nil, err
	}
	v.watcher = &watcher{env: e, chat: chat, input: v.input, desk: v.desk, session: s, queued: v.queued, jobs: v.jobs, mode: v.mode}
	out := screen.Options{Env: e, Console: v.input.Console(), Page: shown, Script: v.script, Standing: v.watcher.standing}
	if out.Console.Interactive() && e.Notifies() {
		out.Title = v.title()
	}
	v.screen = screen.New(out)
	v.watcher.screen = v.screen
	v.watcher.asker = &asker{env: e, chat: chat, screen: v.screen, desk: v.desk, mode: v.mode, started: func() { v.hub.want() }}
	v.hub = &hubKeeper{env: e, conn: chat.conn, screen: v.screen, session: s, wanted: make(chan struct{}, 1)}
	v.sender = &sender{env: e, chat: chat, input: v.input, screen: v.screen, hub: v.hub, session: s, queued: v.queued}
	return v, nil
}

// prompt returns the text before the line that is typed.
func (v *visit) prompt() string {
	if v.session != nil {
		return "> "
	}
	return v.chat.name() + "> "
}

// title returns the title of the terminal's window: the project of a session, or the
// chat.
func (v *visit) title() string {
	if name, isProject := place(v.Env); v.session != nil && isProject {
		return name
	}
	return v.chat.name()
}

// agentNames returns the agents that may be mentioned here.
func (v *visit) agentNames() []fika.AgentName {
	if v.session != nil {
		return v.session.agents.MentionableNames()
	}
	rows, err := v.chat.service().Agents.Rows(context.Background())
	if err != nil {
		return nil // nothing is offered
	}
	var names []fika.AgentName
	for _, a := range rows {
		if a.ID != "" {
			names = append(names, a.Name)
		}
	}
	return names
}

// keepPaused keeps the chat paused until [visit.releaseLease].
func (v *visit) keepPaused(lease *service.PauseLease) { v.lease, v.watcher.lease = lease, lease }

// releaseLease ends the person's hold on the chat and says whether the chat goes on.
func (v *visit) releaseLease() {
	_ = v.screen.Close()
	resumed, err := v.lease.Release()
	switch {
	case err != nil:
		v.Warn(err.Error())
	case resumed:
		v.Say("%s continues", v.chat.name())
	case v.chat.isPaused(context.Background()):
		v.Say("%s is still paused (fika chat resume %s)", v.chat.name(), v.chat.name())
	}
}

// run shows the last entries and those that arrive, keeps a hub, and reads lines in
// this goroutine until the person leaves. stop ends ctx.
func (v *visit) run(ctx context.Context, stop context.CancelFunc, history int) error {
	last, err := v.showHistory(ctx, history)
	if err != nil {
		return err
	}
	v.welcome(ctx)
	if plan, err := v.chat.service().Chats.Plan(ctx, v.chat.conversation()); err == nil {
		v.watcher.asker.notePlan(plan)
	}
	if last == 0 {
		last = v.chat.conversation().LastSeq
	}
	looker := v.App().CloneUnopened() // an App is for one goroutine
	defer looker.Close()
	var wg sync.WaitGroup
	wg.Go(func() { v.watcher.run(ctx, last) })
	if v.screen.IsInteractive() {
		wg.Go(func() { v.hub.run(ctx, service.HubOf(looker)) })
	}
	err = v.readLines(ctx)
	stop()
	wg.Wait()
	v.beside.Wait()
	return err
}

// showHistory prints the last messages; in a session also what agents did, and
// everything since the person last said something, which they may not have seen.
// It returns the number of the last entry; 0 if there is none.
func (v *visit) showHistory(ctx context.Context, limit int) (last int64, err error) {
	q := service.EntryQuery{Conversation: v.chat.conversation().ID, Types: page.ShownTypes(v.session != nil), Last: limit}
	if v.session == nil {
		return v.chat.service().Chats.Read(ctx, q, v.screen.ShowEntry)
	}
	recent, err := v.session.recent(ctx, v.chat.service(), q)
	if err != nil {
		return 0, err
	}
	script := v.script
	if len(recent) == 0 || recent[0].Seq == 1 { // shown from its beginning
		script.Last = v.session.first
	}
	if len(recent) == 0 {
		return 0, nil
	}
	v.screen.Print(script.Replay(recent) + "\n\n")
	v.session.resume(script.Last, recent)
	return recent[len(recent)-1].Seq, nil
}

// welcome tells the person where they are.
func (v *visit) welcome(ctx context.Context) {
	if v.session != nil {
		v.screen.Note(v.session.welcome(ctx, v.Env, v.chat.service().Sandbox(), v.screen.Width()))
		if v.session.fresh {
			v.screen.Note("— a new session, the chat " + v.chat.name())
		}
		return
	}
	note := fmt.Sprintf("— in %s; /help lists the commands, /quit leaves", v.chat.name())
	switch {
	case v.lease != nil && v.lease.First:
		note += "; you hold it: nothing new begins before you leave"
	case v.chat.conversation().Paused:
		note += "; it is PAUSED (/unpause)"
	}
	v.screen.Note(note)
}

// readLines handles what the person types until they leave. It returns errAnother if
// they want another session.
func (v *visit) readLines(ctx context.Context) error {
	for {
		line, err := v.input.ReadLine(ctx)
		if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
			return nil
		}
		if err != nil {
			return err
		}
		text := strings.TrimSpace(line.Text)
		switch {
		case text == "":
		case text == "?":
			_ = v.showHelp(ctx, line)
		case strings.HasPrefix(text, "!") && v.session != nil && v.screen.IsInteractive():
			v.runShell(ctx, text)
		case remembers(text) && v.session != nil && v.screen.IsInteractive():
			v.remember(text)
		case strings.HasPrefix(text, "//"):
			line.Text = strings.Replace(line.Text, "/", "", 1)
			v.sender.sendTyped(ctx, line)
		case strings.HasPrefix(text, "/"):
			if err := v.carryOut(ctx, line); errors.Is(err, errLeave) {
				return nil
			} else if errors.Is(err, errAnother) {
				return err
			}
		default:
			along := v.shell.takeAlong()
			line.Text, line.Typed.Text = line.Text+along, line.Typed.Text+along
			v.sender.sendTyped(ctx, line)
		}
	}
}

// interrupt handles ctrl-c on an empty line: it cancels the only turn or team run that is
// under way, or reports that there are several, or none.
func (v *visit) interrupt() {
	if v.shell.interrupt() {
		return
	}
	if !v.cancelWork("; ctrl-c again leaves") {
		v.screen.Note("— nothing runs here; ctrl-c again leaves")
	}
}

// escape handles the escape key: like ctrl-c, but it never leaves, and is silent where
// nothing is under way.
func (v *visit) escape() { v.cancelWork("") }

// cancelWork cancels the only turn or team run that is under way and says so, with more at
// the end, or says that there are several. It returns false if there is none.
func (v *visit) cancelWork(more string) bool {
	ctx, stop := context.WithTimeout(context.Background(), 3*time.Second)
	defer stop()
	c := v.chat.service()
	turns, err := c.Chats.UnderWay(ctx, v.chat.conversation())
	runs, runsErr := c.Runs().InChat(ctx, v.chat.conversation())
	said := ""
	switch {
	case err != nil || runsErr != nil:
		err = errors.Join(err, runsErr)
	case len(turns)+len(runs) == 0:
		return false
	case len(runs) > 0 && len(turns)+len(runs) > 1:
		said = fmt.Sprintf("%s and %s are under way; /stop cancels them all", command.Plural(len(turns), "turn"), command.Plural(len(runs), "run")+" of a team")
	case len(runs) == 1:
		said = "cancelling what the team does"
		_, err = c.Runs().Cancel(ctx, runs[0].ID, "cancelled from the terminal")
	case len(turns) > 1:
		var names []string
		for _, r := range turns {
			names = append(names, "@"+string(r.AgentName))
		}
		slices.Sort(names)
		said = strings.Join(slices.Compact(names), " and ") + " are at work; /stop cancels them all"
	case turns[0].Reason == string(fika.WaitApproval):
		said = fmt.Sprintf("cancelled what @%s asks you about", turns[0].AgentName)
		_, err = c.Requests.Cancel(ctx, turns[0].ID, "")
	default:
		said = "cancelling what @" + string(turns[0].AgentName) + " does"
		_, err = c.Requests.Cancel(ctx, turns[0].ID, "")
	}
	if err != nil {
		said, more = err.Error(), ""
	}
	v.screen.Note("— " + said + more)
	return true
}
