package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/input"
	"fika/internal/cli/page"
	"fika/internal/service"
	"fika/internal/system/term"
)

// pause carries out /pause.
func (v *visit) pause(ctx context.Context, _ input.Line) error {
	err := v.chat.service().ChatControl.Pause(ctx, v.chat.conversation())
	if err == nil {
		v.screen.Note("— paused; what is said now waits")
	}
	return err
}

// unpause carries out /unpause: a person who joined with --pause no longer holds the chat.
func (v *visit) unpause(ctx context.Context, _ input.Line) error {
	err := v.chat.service().ChatControl.Resume(ctx, v.chat.conversation())
	if err == nil {
		v.lease.Forget()
		v.screen.Note("— resumed")
	}
	return err
}

// stop carries out /stop.
func (v *visit) stop(ctx context.Context, _ input.Line) error {
	d, err := v.chat.service().ChatControl.Stop(ctx, v.chat.conversation())
	if err == nil {
		v.screen.Note("— " + page.Stopped(d))
	}
	return err
}

// continueChain carries out /continue.
func (v *visit) continueChain(ctx context.Context, _ input.Line) error {
	agents, err := v.chat.service().ChatControl.Continue(ctx, v.chat.conversation())
	if err == nil {
		v.screen.Note("— continues with " + page.Mentions(agents))
	}
	return err
}

// retry carries out /retry.
func (v *visit) retry(ctx context.Context, _ input.Line) error {
	tried, err := v.chat.service().Chats.Retry(ctx, v.chat.conversation(), "")
	for _, r := range tried {
		v.screen.Note("— " + page.Retried(r))
	}
	if err == nil && len(tried) == 0 {
		v.screen.Note("— nothing waits for a provider, nothing failed")
	}
	return err
}

// compact carries out /compact [@AGENT] [WHAT TO KEEP]. At a terminal it goes on beside
// what the person types.
func (v *visit) compact(ctx context.Context, line input.Line) error {
	c, words := v.chat.service(), line.Arguments()
	var only fika.AgentName
	o := service.CompactionOrder{
		Person: v.Person(),
		Busy: func(name fika.AgentName) {
			v.screen.Note(fmt.Sprintf("— @%s compacts in its own process, after any running turn", name))
		},
	}
	o.Stdin, o.Warn = nil, func(text string) { v.screen.Note("— " + text) }
	if len(words) > 0 && strings.HasPrefix(words[0], "@") {
		row, err := c.Agents.FindKnown(ctx, strings.TrimPrefix(words[0], "@"))
		if err != nil {
			return err
		}
		only, words = row.Name, words[1:]
	}
	o.Instructions = strings.Join(words, " ")
	do := func() error {
		done, err := c.ChatControl.Compact(ctx, v.chat.conversation(), only, o)
		for _, d := range done {
			v.screen.Note("— " + page.Compacted(d))
			if v.session != nil && !d.Repeat {
				v.session.cost.add(d.Usage)
			}
		}
		return err
	}
	if !v.screen.IsInteractive() {
		return do()
	}
	v.screen.Note("— compacting")
	v.beside.Go(func() { // joined by run
		if err := do(); err != nil {
			v.screen.Note("— " + command.ErrorText(err))
		}
	})
	return nil
}

// showParticipants carries out /who.
func (v *visit) showParticipants(ctx context.Context, _ input.Line) error {
	names, err := v.chat.service().Chats.Participants(ctx, v.chat.conversation())
	if err == nil {
		v.screen.Note("— " + strings.Join(names, " "))
	}
	return err
}

// showWaiting carries out /why: it shows what runs and waits in the chat, and for what.
func (v *visit) showWaiting(ctx context.Context, _ input.Line) error {
	queue, err := v.chat.service().Chats.Queue(ctx, v.chat.conversation().ID)
	if err != nil {
		return err
	}
	if trouble := v.chat.conn.trouble(); trouble != "" {
		v.screen.Note("— " + trouble)
	}
	runs, err := v.chat.teamRuns(ctx)
	if err != nil {
		return err
	}
	if len(runs) == 0 && !slices.ContainsFunc(queue, func(q service.QueueItem) bool { return !q.IsOver() }) {
		v.screen.Note("— nothing runs, nothing waits")
	}
	for _, r := range runs {
		v.screen.Note("— " + r.whyLine())
	}
	for _, q := range queue {
		what := fmt.Sprintf("@%s %s: %s", q.Agent, q.Place, page.Reason(q, v.Now()))
		if q.IsOver() {
			what = fmt.Sprintf("over, %s: %s", term.Ago(q.Since, v.Now()), what)
		}
		v.screen.Note("— " + what)
	}
	return nil
}

// expand carries out /expand [#N]: it prints one answer's tool calls and results in full.
func (v *visit) expand(ctx context.Context, line input.Line) error {
	q := service.EntryQuery{Conversation: v.chat.conversation().ID, Types: []fika.EntryType{fika.Message, fika.ToolCall, fika.ToolResult}}
	c := v.chat.service()
	var wanted int64
	if words := line.Arguments(); len(words) > 0 {
		var err error
		if wanted, err = c.Chats.FindEntry(ctx, v.chat.conversation(), words[0]); err != nil {
			return err
		}
	}
	var latest, ofWanted fika.RequestID
	calls := map[fika.RequestID][]fika.Entry{}
	_, err := c.Chats.Read(ctx, q, func(x fika.Entry) error {
		if x.Type != fika.Message {
			calls[x.Request] = append(calls[x.Request], x)
			latest = x.Request
		}
		if x.Seq == wanted {
			ofWanted = x.Request
		}
		return nil
	})
	if err != nil {
		return err
	}
	request := latest
	if wanted > 0 {
		request = ofWanted
	}
	if len(calls[request]) == 0 {
		return fika.Errorf(fika.NotFound, "", "no tool was called there; fika chat view %s --all shows everything", v.chat.name())
	}
	v.screen.PrintCalls(calls[request])
	return nil
}

// approve carries out /approve N and /approve N --deny WHY.
func (v *visit) approve(ctx context.Context, line input.Line) error {
	said, err := v.desk.CarryOut(ctx, v.chat.service().Approvals(), line.Arguments())
	v.screen.PrintQuestions(said)
	return err
}

// export carries out /export [FILE]: it writes the messages as Markdown. An
// existing file is not overwritten (Conflict).
func (v *visit) export(ctx context.Context, line input.Line) error {
	name := v.chat.name() + ".md"
	if words := line.Arguments(); len(words) > 0 {
		name = strings.Join(words, " ")
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(v.App().Dir(), name)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if os.IsExist(err) {
		return fika.Errorf(fika.Conflict, "", "%s exists already; /export FILE takes another name", name)
	}
	if err != nil {
		return fika.Wrap(fika.Storage, "export", err)
	}
	defer f.Close()
	n := 0
	q := service.EntryQuery{Conversation: v.chat.conversation().ID, Types: []fika.EntryType{fika.Message}}
	_, err = v.chat.service().Chats.Read(ctx, q, func(x fika.Entry) error {
		n++
		_, err := fmt.Fprintf(f, "## %s, %s (#%d)\n\n%s\n\n", x.From, x.At.Local().Format(time.DateTime), x.Seq, strings.TrimRight(x.Content, "\n"))
		return err
	})
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return fika.Wrap(fika.Storage, "export", err)
	}
	v.screen.Note(fmt.Sprintf("— wrote %s to %s", command.Plural(n, "message"), name))
	return nil
}

// toggleThinking carries out /thinking.
func (v *visit) toggleThinking(context.Context, input.Line) error {
	v.thinks = !v.thinks
	v.screen.ShowThoughts(v.thinks)
	if v.thinks {
		v.screen.Note("— what models reason is shown, where a provider sends it; how much they reason is in [reasoning]")
	} else {
		v.screen.Note("— what models reason is not shown")
	}
	return nil
}
