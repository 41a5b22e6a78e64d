package service_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/repository/undo"
	"fika/internal/rights/guard"
	"fika/internal/service"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/workflow"
)

// inChat returns a write about a chat, or about another one.
func inChat(do func(context.Context, *service.Service, fika.Conversation) (string, error)) keyedWrite {
	return keyedWrite{do: func(ctx context.Context, s *service.Service, other bool) (string, error) {
		name := "room"
		if other {
			name = "hall"
		}
		conv, err := s.Chats.Find(ctx, name)
		if err != nil {
			return "", err
		}
		return do(ctx, s, conv)
	}}
}

// texted returns a write whose body is one text or another.
func texted(do func(context.Context, *service.Service, string) (string, error)) keyedWrite {
	return keyedWrite{do: func(ctx context.Context, s *service.Service, other bool) (string, error) {
		if other {
			return do(ctx, s, "two")
		}
		return do(ctx, s, "one")
	}}
}

// keyedWrites is how every verb is tried that repeats by a key or as an intent.
func keyedWrites() map[string]keyedWrite {
	out := map[string]keyedWrite{}
	for _, part := range []map[string]keyedWrite{keyedInChats(), keyedForAgents(), keyedForRuns(), keyedInSettings(), keyedOnBoard(), keyedOffers(), keyedTokens()} {
		for verb, w := range part {
			out[verb] = w
		}
	}
	return out
}

// compacted returns a write that compacts what agents see of a chat, and gives the
// compaction that is there then.
func compacted(do func(context.Context, *service.Service, fika.Conversation, service.CompactionOrder) error) keyedWrite {
	return inChat(func(ctx context.Context, s *service.Service, c fika.Conversation) (string, error) {
		order := service.CompactionOrder{Person: app.Person{Warn: func(string) {}}}
		if err := do(ctx, s, c, order); err != nil {
			return "", err
		}
		n := 0
		_, err := s.Chats.Read(ctx, service.EntryQuery{Conversation: c.ID, Types: []fika.EntryType{fika.Compaction}}, func(fika.Entry) error { n++; return nil })
		return fmt.Sprint(n), err
	}).with(func(_ keyHome, s *service.Service) error {
		for _, name := range []string{"room", "hall"} {
			c, err := s.Chats.Find(context.Background(), name)
			if err != nil {
				return err
			}
			for range 12 {
				if _, err := s.Chats.Send(context.Background(), c, strings.Repeat("it is so. ", 100), service.Alias{}); err != nil {
					return err
				}
			}
		}
		return nil
	}).once()
}

func keyedInChats() map[string]keyedWrite {
	alias := service.Alias{}
	return map[string]keyedWrite{
		"conversation.send": inChat(func(ctx context.Context, s *service.Service, c fika.Conversation) (string, error) {
			sent, err := s.Chats.Send(ctx, c, "@coder look", alias)
			return fmt.Sprint(sent.Entry.Seq, sent.Entry.ID), err
		}),
		"conversation.steer": {prepare: keyHome.beginTurns, do: inChat(func(ctx context.Context, s *service.Service, c fika.Conversation) (string, error) {
			sent, err := s.Chats.Steer(ctx, c, "@coder look", nil, alias)
			if err == nil && sent.Input == nil {
				err = errors.New("it does not wait")
			}
			if err != nil {
				return "", err
			}
			return string(sent.Input.ID), nil
		}).do},
		"conversation.accept": inChat(func(ctx context.Context, s *service.Service, c fika.Conversation) (string, error) {
			var plan fika.Entry
			_, err := s.Chats.Read(ctx, service.EntryQuery{Conversation: c.ID, Upto: 1}, func(x fika.Entry) error { plan = x; return nil })
			if err != nil {
				return "", err
			}
			sent, err := s.Chats.AcceptPlan(ctx, c, plan, "edit", alias)
			return fmt.Sprint(sent.Entry.Seq, sent.Entry.ID), err
		}).with(func(h keyHome, _ *service.Service) error {
			return errors.Join(h.sql(`UPDATE conversations SET mode = 'plan' WHERE kind = 'chat'`),
				h.sql(`UPDATE entries SET metadata = '{"writer":"agent","writer_name":"coder","plan":true}' WHERE seq = 1`))
		}).once(),
		"conversation.rewind": inChat(func(ctx context.Context, s *service.Service, c fika.Conversation) (string, error) {
			r, err := s.ChatControl.Rewind(ctx, c, 1, false)
			return fmt.Sprint(r.Entry.Seq, r.Entry.ID), err
		}).once(),
		"conversation.create": texted(func(ctx context.Context, s *service.Service, text string) (string, error) {
			c, err := s.Chats.Create(ctx, text)
			return string(c.ID), err
		}).once(),
		"conversation.session": {do: func(ctx context.Context, s *service.Service, other bool) (string, error) {
			c, err := s.Chats.Session(ctx, !other)
			return string(c.ID), err
		}},
		"conversation.enter": inChat(func(ctx context.Context, s *service.Service, c fika.Conversation) (string, error) {
			return s.Chats.Enter(ctx, c, service.Alias{Name: "guest"})
		}).once(),
		"conversation.invite": inChat(func(ctx context.Context, s *service.Service, c fika.Conversation) (string, error) {
			return "", s.Chats.Invite(ctx, c, []fika.AgentName{"coder", "crew-1"})
		}),
		"conversation.stop": inChat(func(ctx context.Context, s *service.Service, c fika.Conversation) (string, error) {
			d, err := s.ChatControl.Stop(ctx, c)
			return fmt.Sprint(d.Requests), err
		}).with(func(h keyHome, _ *service.Service) error { return h.claimed("running") }).once(),
		"conversation.continue": inChat(func(ctx context.Context, s *service.Service, c fika.Conversation) (string, error) {
			names, err := s.ChatControl.Continue(ctx, c)
			return fmt.Sprint(names), err
		}).with(func(h keyHome, _ *service.Service) error {
			return h.sql(`UPDATE notifications SET state = 'dropped', reason = 'limit'`)
		}).once(),
		"conversation.clear": inChat(func(ctx context.Context, s *service.Service, c fika.Conversation) (string, error) {
			return "", s.Chats.Clear(ctx, c)
		}),
		"conversation.delete": inChat(func(ctx context.Context, s *service.Service, c fika.Conversation) (string, error) {
			_, err := s.Chats.Delete(ctx, c)
			return string(c.ID), err
		}).once(),
		"conversation.rename": inChat(func(ctx context.Context, s *service.Service, c fika.Conversation) (string, error) {
			now, err := s.Chats.Rename(ctx, c, "den")
			return fmt.Sprint(now.ID, now.Name), err
		}).once(),
		"conversation.pin": inChat(func(ctx context.Context, s *service.Service, c fika.Conversation) (string, error) {
			e, err := s.Chats.Pin(ctx, c, 1, true)
			return fmt.Sprint(e.ID, e.Pinned), err
		}).once(),
		"conversation.unpin": inChat(func(ctx context.Context, s *service.Service, c fika.Conversation) (string, error) {
			e, err := s.Chats.Pin(ctx, c, 1, false)
			return fmt.Sprint(e.ID, e.Pinned), err
		}).with(func(h keyHome, _ *service.Service) error { return h.sql(`UPDATE entries SET pinned = 1`) }).once(),
		"conversation.retry": inChat(func(ctx context.Context, s *service.Service, c fika.Conversation) (string, error) {
			again, err := s.Chats.RetryDead(ctx, c, "")
			return fmt.Sprint(again), err
		}).with(func(h keyHome, _ *service.Service) error { return h.claimed("dead") }),
		"conversation.compact": compacted(func(ctx context.Context, s *service.Service, c fika.Conversation, o service.CompactionOrder) error {
			done, err := s.ChatControl.Compact(ctx, c, "", o)
			for _, d := range done {
				err = errors.Join(err, d.Err)
			}
			return err
		}),
		"agent.compact": compacted(func(ctx context.Context, s *service.Service, c fika.Conversation, o service.CompactionOrder) error {
			o.Chat = c.Name
			_, _, err := s.Agents.Compact(ctx, "coder", o)
			return err
		}),
		"conversation.cleanup": {do: func(ctx context.Context, s *service.Service, other bool) (string, error) {
			c, err := s.Chats.Cleanup(ctx, false)
			return fmt.Sprint(c.Expired, c.Chats), err
		}, prepare: func(h keyHome, s *service.Service) error {
			if _, err := s.Chats.Create(context.Background(), "empty"); err != nil {
				return err
			}
			return h.sql(`UPDATE entries SET expires_at = 1`, `UPDATE conversations SET updated_at = 1 WHERE name = 'empty'`)
		}, bodiless: true},
	}
}

// ask returns a write that gives coder work.
func askOf(kind fika.RequestKind) keyedWrite {
	return texted(func(ctx context.Context, s *service.Service, text string) (string, error) {
		row, err := s.Agents.Find(ctx, "coder")
		if err != nil {
			return "", err
		}
		a, err := s.Requests.Submit(ctx, row, service.Ask{Kind: kind, Prompt: text})
		return string(a.Request.ID), err
	})
}

func keyedForAgents() map[string]keyedWrite {
	ofAgent := func(name, other string, do func(context.Context, *service.Service, fika.Agent) (string, error)) keyedWrite {
		return keyedWrite{do: func(ctx context.Context, s *service.Service, another bool) (string, error) {
			of := name
			if another {
				of = other
			}
			row, err := s.Agents.Find(ctx, of)
			if err != nil {
				return "", err
			}
			return do(ctx, s, row)
		}}
	}
	return map[string]keyedWrite{
		"agent.ask":  askOf(fika.AskRequest),
		"agent.task": askOf(fika.TaskRequest),
		"agent.message": texted(func(ctx context.Context, s *service.Service, text string) (string, error) {
			p, err := s.SendToContext(ctx, "coder", text, service.Alias{})
			return string(p.Entry.ID), err
		}),
		"agent.reset": ofAgent("coder", "crew-1", func(ctx context.Context, s *service.Service, a fika.Agent) (string, error) {
			c, err := s.Agents.Reset(ctx, a)
			return string(c.ID), err
		}),
		"agent.unbind": ofAgent("crew", "coder", func(ctx context.Context, s *service.Service, a fika.Agent) (string, error) {
			was, _, err := s.Agents.Unbind(ctx, a)
			return string(was.Name), err
		}).with(func(_ keyHome, s *service.Service) error {
			row, err := s.Agents.Find(context.Background(), "crew")
			if err == nil {
				_, err = s.Requests.Submit(context.Background(), row, service.Ask{Kind: fika.AskRequest, Prompt: "x"})
			}
			return err
		}).once(),
		"request.retry": {do: func(ctx context.Context, s *service.Service, other bool) (string, error) {
			list, err := s.Requests.List(ctx, service.RequestFilter{States: []fika.RequestState{fika.Cancelled}})
			if err != nil {
				return "", err
			}
			n := 0
			if other {
				n = 1
			}
			id, err := s.Requests.Retry(ctx, list[n].ID)
			return string(id), err
		}, prepare: func(_ keyHome, s *service.Service) error {
			for range 2 {
				id, err := askOf(fika.TaskRequest).do(context.Background(), s, false)
				if err == nil {
					_, err = s.Requests.Cancel(context.Background(), fika.RequestID(id), "enough")
				}
				if err != nil {
					return err
				}
			}
			return nil
		}, single: true},
		"request.undo": {do: func(ctx context.Context, s *service.Service, other bool) (string, error) {
			id := fika.RequestID("0123456789")
			if other {
				id = "9876543210"
			}
			_, err := s.Undo().Apply(ctx, id)
			return "", err
		}, prepare: func(h keyHome, s *service.Service) error {
			log := undo.Open(folder.HomeAt(h.root).UndoDir(), time.Now)
			for _, id := range []fika.RequestID{"0123456789", "9876543210"} {
				err := log.KeepBefore(undo.Turn{Request: id, Agent: "coder", Workspace: h.root}, undo.Change{
					Step: "1", Path: "changed.txt", Before: strings.NewReader("before"), Size: 6, Mode: 0o600, After: []byte("after"),
				})
				if err != nil {
					return err
				}
			}
			return nil
		}},
	}
}

func startRun(ctx context.Context, s *service.Service, text string) (string, error) {
	d, err := workflow.Load("asks", "asks.toml", []byte("[[steps]]\nid = 'ask'\napprove = true\nprompt = '"+text+"'\n"), workflow.Known{})
	if err != nil {
		return "", err
	}
	r, err := s.Runs().Start(ctx, d, nil)
	return string(r.ID), err
}

func keyedForRuns() map[string]keyedWrite {
	started := func(_ keyHome, s *service.Service) error {
		for range 2 {
			if _, err := startRun(context.Background(), s, "go on?"); err != nil {
				return err
			}
		}
		return nil
	}
	nth := func(other bool) int {
		if other {
			return 2
		}
		return 1
	}
	number := func(ctx context.Context, s *service.Service, other bool) int64 { // of a question, answered or not
		found := 0
		for n := int64(1); ; n++ {
			if _, err := s.Approvals().Find(ctx, n); err == nil {
				found++
			}
			if found == nth(other) || n > 10_000 {
				return n
			}
		}
	}
	return map[string]keyedWrite{
		"run.start": texted(startRun),
		"run.team": texted(func(ctx context.Context, s *service.Service, text string) (string, error) {
			line, _, err := service.TeamLine("@coder, @crew-1: " + text)
			if err != nil {
				return "", err
			}
			conv, err := s.Chats.Find(ctx, "room")
			if err != nil {
				return "", err
			}
			r, err := s.Runs().StartTeamIn(ctx, conv, "@coder, @crew-1: "+text, line, service.Alias{})
			return string(r.ID), err
		}),
		"run.resume": {do: func(ctx context.Context, s *service.Service, other bool) (string, error) {
			list, err := s.Runs().List(ctx, false, 0)
			if err != nil {
				return "", err
			}
			r, err := s.Runs().Resume(ctx, list[nth(other)-1], nil, "")
			return string(r.ID) + string(r.Request), err
		}, prepare: func(h keyHome, s *service.Service) error {
			if err := started(h, s); err != nil {
				return err
			}
			list, err := s.Runs().List(context.Background(), true, 0)
			for _, r := range list {
				if _, err := s.Runs().Cancel(context.Background(), r.ID, "enough"); err != nil {
					return err
				}
			}
			return err
		}, single: true},
		"approval.answer": {do: func(ctx context.Context, s *service.Service, other bool) (string, error) {
			return "", s.Approvals().Answer(ctx, number(ctx, s, other), service.ApprovalAnswer{Allow: true, By: s.Principal().Name})
		}, prepare: started, single: true},
		"approval.answer-always": {do: func(ctx context.Context, s *service.Service, other bool) (string, error) {
			return "", s.Approvals().AddRule(ctx, number(ctx, s, other), guard.Rule{Tool: "bash", Match: "ls", Do: "allow"})
		}, prepare: started, single: true},
	}
}

func keyedOnBoard() map[string]keyedWrite {
	made := func(state string) func(keyHome, *service.Service) error {
		return func(h keyHome, s *service.Service) error {
			if _, err := s.Board().Add(context.Background(), []service.NewTask{{Title: "a"}, {Title: "b"}}); err != nil || state == "open" {
				return err
			}
			return h.sql(`UPDATE tasks SET state = '` + state + `', ended_at = CASE WHEN '` + state + `' = 'done' THEN 1 ELSE 0 END`)
		}
	}
	of := func(state string, do func(context.Context, *service.Board, fika.TaskNumber) (service.TaskInfo, error)) keyedWrite {
		return keyedWrite{prepare: made(state), do: func(ctx context.Context, s *service.Service, other bool) (string, error) {
			n := fika.TaskNumber(1)
			if other {
				n = 2
			}
			t, err := do(ctx, s.Board(), n)
			return fmt.Sprint(t.Number, t.State, t.AgentName), err
		}, single: true}
	}
	return map[string]keyedWrite{
		"board.add": texted(func(ctx context.Context, s *service.Service, text string) (string, error) {
			list, err := s.Board().Add(ctx, []service.NewTask{{Title: text}, {Title: text + " then", Needs: []string{text}}})
			out := ""
			for _, t := range list {
				out += fmt.Sprint(t.Number, t.Title, t.Needs, " ")
			}
			return out, err
		}),
		"board.report": of("open", func(ctx context.Context, b *service.Board, n fika.TaskNumber) (service.TaskInfo, error) {
			return b.Report(ctx, n, service.TaskReport{Note: "half of it"})
		}),
		"board.edit": of("open", func(ctx context.Context, b *service.Board, n fika.TaskNumber) (service.TaskInfo, error) {
			title := "better"
			return b.Edit(ctx, n, service.TaskEdit{Title: &title})
		}),
		"board.assign": of("open", func(ctx context.Context, b *service.Board, n fika.TaskNumber) (service.TaskInfo, error) {
			return b.Assign(ctx, n, "coder")
		}),
		"board.release": of("held", func(ctx context.Context, b *service.Board, n fika.TaskNumber) (service.TaskInfo, error) {
			return b.Release(ctx, n, "go on")
		}),
		"board.close": of("open", func(ctx context.Context, b *service.Board, n fika.TaskNumber) (service.TaskInfo, error) {
			return b.Close(ctx, n, true, "enough")
		}),
		"board.reopen": of("done", func(ctx context.Context, b *service.Board, n fika.TaskNumber) (service.TaskInfo, error) {
			return b.Reopen(ctx, n, "again")
		}),
	}
}

// keyedOffers are tried in a project with two branches, and two offers in a state.
func keyedOffers() map[string]keyedWrite {
	made := func(state string) func(keyHome, *service.Service) error {
		return func(h keyHome, _ *service.Service) error {
			if err := h.project("one", "two"); err != nil || state == "" {
				return err
			}
			return h.sql(`INSERT INTO offers (n, source, tip, target, created_by, state, created_at, updated_at, ended_at)
VALUES (1, 'one', 'x', 'main', 'anna', '` + state + `', 1, 1, 1), (2, 'two', 'x', 'main', 'anna', '` + state + `', 1, 1, 1)`)
		}
	}
	of := func(state string, do func(context.Context, *service.Offers, fika.OfferNumber) (fika.Offer, error)) keyedWrite {
		return keyedWrite{prepare: made(state), do: func(ctx context.Context, s *service.Service, other bool) (string, error) {
			n := fika.OfferNumber(1)
			if other {
				n = 2
			}
			o, err := do(ctx, s.Offers(), n)
			return fmt.Sprint(o.Number, o.State), err
		}, single: true}
	}
	return map[string]keyedWrite{
		"offer.add": texted(func(ctx context.Context, s *service.Service, text string) (string, error) {
			o, _, err := s.Offers().Add(ctx, text)
			return fmt.Sprint(o.Number, o.Source, o.State), err
		}).with(made("")).once(),
		"offer.cancel": of("back", func(ctx context.Context, o *service.Offers, n fika.OfferNumber) (fika.Offer, error) {
			return o.Cancel(ctx, n, "enough")
		}),
		"offer.retry": of("back", func(ctx context.Context, o *service.Offers, n fika.OfferNumber) (fika.Offer, error) {
			return o.Retry(ctx, n, nil)
		}),
	}
}

func keyedInSettings() map[string]keyedWrite {
	named := func(do func(context.Context, *service.Schedules, string) error) keyedWrite {
		return keyedWrite{do: func(ctx context.Context, s *service.Service, other bool) (string, error) {
			name := "daily"
			if other {
				name = "weekly"
			}
			return "", do(ctx, s.Schedules(), name)
		}}
	}
	budget := func(remove bool) keyedWrite {
		return keyedWrite{single: true, do: func(ctx context.Context, s *service.Service, other bool) (string, error) {
			b := config.Budget{Scope: "home", Per: "day", Tokens: 500}
			if other {
				b.Tokens = 700
			}
			_, err := s.Budgets().Set(ctx, b, remove)
			return "", err
		}}
	}
	return map[string]keyedWrite{
		"schedule.set": texted(func(ctx context.Context, s *service.Service, text string) (string, error) {
			one, err := s.Schedules().Add(ctx, config.Schedule{Name: text, Cron: "@daily", Agent: "coder", Prompt: "look"})
			return one.Schedule.Name, err
		}).once(),
		"schedule.delete": named(func(ctx context.Context, s *service.Schedules, name string) error { return s.Remove(ctx, name) }).once(),
		"schedule.pause": named(func(ctx context.Context, s *service.Schedules, name string) error {
			_, err := s.Pause(ctx, name)
			return err
		}),
		"schedule.resume": named(func(ctx context.Context, s *service.Schedules, name string) error {
			_, err := s.Resume(ctx, name)
			return err
		}),
		"schedule.run": {do: func(ctx context.Context, s *service.Service, other bool) (string, error) {
			name := "daily"
			if other {
				name = "weekly"
			}
			o, err := s.Schedules().BeginNow(ctx, name)
			return string(o.Request), err
		}},
		"budget.set":    budget(false),
		"budget.delete": budget(true),
	}
}
