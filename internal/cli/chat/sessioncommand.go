package chat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/client"
	"fika/internal/term"
)

// lookAtApprovals shows questions that are new, and what became of others.
func (j *joined) lookAtApprovals(ctx context.Context, c *client.Client) {
	said, err := j.desk.TakeNews(ctx, c.Approvals())
	if err != nil {
		return // the next look tells
	}
	j.printAsked(said)
}

// printAsked prints what is said about tool calls: sentences wrapped between
// words, calls as they are.
func (j *joined) printAsked(said []string) {
	for _, text := range said {
		if !j.con.Interactive() {
			j.Say("%s", text)
			continue
		}
		lines := strings.Split(text, "\n")
		for i, l := range lines {
			if !strings.HasPrefix(l, " ") {
				lines[i] = term.Wrap(l, j.con.Width()-1)
			}
		}
		j.feed.Print(j.OutStyle().Yellow(strings.Join(lines, "\n")))
	}
}

// approve is /approve N, and /approve N --deny WHY.
func (j *joined) approve(ctx context.Context, words []string) error {
	said, err := j.desk.CarryOut(ctx, j.client().Approvals(), words[1:])
	j.printAsked(said)
	return err
}

func (j *joined) showAgents(ctx context.Context, _ []string) error {
	list, err := j.client().Agents.List(ctx, false)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, v := range list {
		rows = append(rows, []string{"@" + string(v.Row.Name), string(v.Status), v.Model, term.CleanLine(v.Why)})
	}
	j.feed.Print(term.FormatTable(term.TableOptions{Width: j.con.Width(), Style: j.OutStyle()}, []string{"AGENT", "STATUS", "MODEL", ""}, rows))
	return nil
}

// setModel is /model [@AGENT] [MODEL].
func (j *joined) setModel(ctx context.Context, words []string) error {
	agent, words := j.session.spokenTo(), words[1:]
	if len(words) > 0 && strings.HasPrefix(words[0], "@") {
		row, err := j.client().Agents.Find(ctx, strings.TrimPrefix(words[0], "@"))
		if err != nil {
			return err
		}
		agent, words = row.Name, words[1:]
	}
	switch len(words) {
	case 0:
		list, err := j.client().Agents.List(ctx, false)
		if err != nil {
			return err
		}
		for _, v := range list {
			j.note(fmt.Sprintf("— @%s: %s", v.Row.Name, command.Dash(v.Model)))
		}
		j.note("— /model MODEL sets that of @" + string(agent) + "; fika model list shows what there is")
		return nil
	case 1:
		if err := j.client().Agents.SetModel(ctx, agent, words[0]); err != nil {
			return err
		}
		j.note(fmt.Sprintf("— @%s answers with %s from its next turn on", agent, words[0]))
		return nil
	}
	return fika.Errorf(fika.Invalid, "", "/model takes an agent and a model: /model @%s NAME", agent)
}

// spokenTo is who gets text without a name.
func (s *session) spokenTo() fika.AgentName {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (j *joined) showCost(ctx context.Context, _ []string) error {
	j.session.count(ctx, j.client(), j.chat())
	spent, unpriced := j.session.spending()
	j.note(fmt.Sprintf("— this session: %s in, %s out, cost %s; fika usage tells of all", term.Count(spent.Input), term.Count(spent.Output), term.Cost(spent.Cost, unpriced)))
	budgets, err := j.client().Budgets(ctx)
	for _, b := range budgets {
		j.note("— budget of " + client.BudgetLine(b))
	}
	return err
}

// export is /export [FILE]: what was said, as Markdown. A file that is there is
// not overwritten.
func (j *joined) export(ctx context.Context, words []string) error {
	name := string(j.chat().Name) + ".md"
	if len(words) > 1 {
		name = strings.Join(words[1:], " ")
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(j.App().Dir(), name)
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
	q := client.EntryQuery{Conversation: j.chat().ID, Types: []fika.EntryType{fika.Message}}
	_, err = j.client().Chats.Read(ctx, q, func(x fika.Entry) error {
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
	j.note(fmt.Sprintf("— wrote %s to %s", counted(n, "message"), name))
	return nil
}

// interrupt is ctrl-c on an empty line: it cancels the one turn that runs, and
// lists them when there are several.
func (j *joined) interrupt() {
	ctx, stop := context.WithTimeout(context.Background(), 3*time.Second)
	defer stop()
	running, err := j.client().Chats.Running(ctx, j.chat())
	runs, runsErr := j.client().Runs().InChat(ctx, j.chat())
	switch {
	case err != nil || runsErr != nil:
		j.note("— " + errors.Join(err, runsErr).Error())
	case len(runs) > 0 && len(running)+len(runs) > 1:
		j.note(fmt.Sprintf("— %s and %s are under way; /stop cancels them all, ctrl-c again leaves", counted(len(running), "turn"), counted(len(runs), "run")+" of a team"))
	case len(runs) == 1:
		if _, err := j.client().Runs().Cancel(ctx, runs[0].ID, "cancelled from the terminal"); err != nil {
			j.note("— " + err.Error())
			return
		}
		j.note("— cancelling what the team does; ctrl-c again leaves")
	case len(running) == 0:
		j.note("— nothing runs here; ctrl-c again leaves")
	case len(running) == 1:
		for id, name := range running {
			if _, err := j.client().Requests.Cancel(ctx, fika.RequestID(id), "cancelled from the terminal"); err != nil {
				j.note("— " + err.Error())
				return
			}
			j.note("— cancelling what @" + name + " does; ctrl-c again leaves")
		}
	default:
		var names []string
		for _, name := range running {
			names = append(names, "@"+name)
		}
		slices.Sort(names)
		j.note("— " + strings.Join(names, " and ") + " are at work; /stop cancels them all, ctrl-c again leaves")
	}
}
