package service_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/bus/message"
	"fika/internal/service"
	"fika/internal/settings/config"
	"fika/internal/store"
	"fika/internal/workflow"
)

// call does a verb about @gendry's things through a service. It returns what the verb
// lists, as a count.
type call func(ctx context.Context, w *world, s *service.Service) (rows int, err error)

// failed is a call that returns nothing but an error.
func failed(do func(context.Context, *world, *service.Service) error) call {
	return func(ctx context.Context, w *world, s *service.Service) (int, error) { return 0, do(ctx, w, s) }
}

// counted is a call that lists.
func counted[T any](do func(context.Context, *world, *service.Service) ([]T, error)) call {
	return func(ctx context.Context, w *world, s *service.Service) (int, error) {
		list, err := do(ctx, w, s)
		return len(list), err
	}
}

func ofChat(do func(context.Context, *service.Service, fika.Conversation) error) call {
	return failed(func(ctx context.Context, w *world, s *service.Service) error { return do(ctx, s, w.secret) })
}

func ofRequest(do func(context.Context, *service.Service, fika.RequestID) error) call {
	return failed(func(ctx context.Context, w *world, s *service.Service) error { return do(ctx, s, w.request) })
}

func ofRun(do func(context.Context, *service.Runs, fika.RequestID) error) call {
	return failed(func(ctx context.Context, w *world, s *service.Service) error { return do(ctx, s.Runs(), w.run.ID) })
}

func ofAgent(do func(context.Context, *service.Service, fika.Agent) error) call {
	return failed(func(ctx context.Context, w *world, s *service.Service) error { return do(ctx, s, w.gendry) })
}

// calls is how each verb is called.
func calls() map[string]call {
	out := map[string]call{}
	for _, part := range []map[string]call{otherCalls(), conversationCalls(), agentCalls(), requestCalls(), runCalls(), boardCalls(), offerCalls(), tokenCalls()} {
		maps.Copy(out, part)
	}
	return out
}

func otherCalls() map[string]call {
	return map[string]call{
		"home.status": failed(func(ctx context.Context, _ *world, s *service.Service) error { _, err := s.Status(ctx); return err }),
		"home.usage": counted(func(ctx context.Context, _ *world, s *service.Service) ([]service.UsageRow, error) {
			return s.Usage(ctx, time.Time{})
		}),
		"home.top": counted(func(ctx context.Context, _ *world, s *service.Service) ([]service.QueueItem, error) {
			return s.Chats.Queue(ctx, "")
		}),
		"home.profile": counted(func(ctx context.Context, _ *world, s *service.Service) ([]service.AgentProfile, error) {
			return s.Profile(ctx, "", time.Time{})
		}),
		"home.spending": counted(func(ctx context.Context, _ *world, s *service.Service) ([]service.Spent, error) {
			lines, _, err := s.Spending(ctx, time.Time{}, service.ByChat)
			return lines, err
		}),
		"home.search": counted(func(ctx context.Context, _ *world, s *service.Service) ([]service.Found, error) {
			return s.Conversations.Search(ctx, "sesame", service.ConversationFilter{})
		}),
		"home.events": func(ctx context.Context, w *world, s *service.Service) (rows int, err error) {
			for e, err := range s.Events(ctx, api.Scope{Content: true}, api.FromOldest) {
				if err != nil {
					return rows, err
				}
				if e.Conversation == string(w.secret.Name) || e.Request == string(w.request) || e.Request == string(w.run.ID) || e.Kind == api.TaskEvent || e.Agent == "gendry" && s.Principal().Kind == api.Agent {
					rows++
				}
			}
			return rows, nil
		},
		"conversation.live": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			for _, err := range s.Events(ctx, api.Scope{Conversations: []string{string(c.Name)}}, api.FromOldest) {
				if err != nil {
					return err
				}
			}
			return nil
		}),
		"home.pause":  failed(func(ctx context.Context, _ *world, s *service.Service) error { return s.ChatControl.PauseAll(ctx) }),
		"home.resume": failed(func(ctx context.Context, _ *world, s *service.Service) error { return s.ChatControl.ResumeAll(ctx) }),

		"approval.list": counted(func(ctx context.Context, _ *world, s *service.Service) ([]service.OpenApproval, error) {
			return s.Approvals().Open(ctx)
		}),
		"approval.show": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			_, err := s.Approvals().Find(ctx, 1)
			return err
		}),
		"approval.answer": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			return s.Approvals().Answer(ctx, 1, service.ApprovalAnswer{Allow: true, By: "x"})
		}),

		"job.list": counted(func(ctx context.Context, _ *world, s *service.Service) ([]service.Job, error) {
			return s.Jobs().List(ctx, service.JobFilter{})
		}),
		"job.show": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			_, err := s.Jobs().Find(ctx, 1)
			return err
		}),
		"job.logs": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			_, err := s.Jobs().Output(ctx, 1, 0, 1)
			return err
		}),
		"job.end": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			_, err := s.Jobs().End(ctx, 1)
			return err
		}),

		"schedule.list": counted(func(ctx context.Context, _ *world, s *service.Service) ([]service.Schedule, error) {
			return s.Schedules().List(ctx)
		}),
		"schedule.show": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			return schedule(s.Schedules().Find(ctx, "daily"))
		}),
		"schedule.set": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			return schedule(s.Schedules().Add(ctx, config.Schedule{}))
		}),
		"schedule.delete": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			return s.Schedules().Remove(ctx, "daily")
		}),
		"schedule.pause": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			return schedule(s.Schedules().Pause(ctx, "daily"))
		}),
		"schedule.resume": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			return schedule(s.Schedules().Resume(ctx, "daily"))
		}),
		"schedule.run": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			return occurred(s.Schedules().BeginNow(ctx, "daily"))
		}),
		"budget.list": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			_, err := s.Budgets().List(ctx)
			return err
		}),
		"budget.show": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			_, err := s.Budgets().Scarce(ctx)
			return err
		}),
		"budget.set": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			_, err := s.Budgets().Set(ctx, config.Budget{}, false)
			return err
		}),
		"budget.delete": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			_, err := s.Budgets().Set(ctx, config.Budget{}, true)
			return err
		}),
	}
}

func conversationCalls() map[string]call {
	in := func(w *world) service.EntryQuery { return service.EntryQuery{Conversation: w.secret.ID} }
	alias := service.Alias{}
	return map[string]call{
		"conversation.list": counted(func(ctx context.Context, _ *world, s *service.Service) ([]service.ConversationInfo, error) {
			return s.Chats.List(ctx)
		}),
		"conversation.show": failed(func(ctx context.Context, w *world, s *service.Service) error {
			_, err := s.Conversations.Find(ctx, string(w.secret.Name))
			_, again := s.Chats.ByID(ctx, w.secret.ID)
			return both(w.T, err, again)
		}),
		"conversation.entries": failed(func(ctx context.Context, w *world, s *service.Service) error {
			_, err := s.Chats.Read(ctx, in(w), func(fika.Entry) error { return nil })
			_, again := s.Conversations.Entries(ctx, in(w))
			return both(w.T, err, again)
		}),
		"conversation.tree": failed(func(ctx context.Context, w *world, s *service.Service) error {
			_, err := s.Chats.Tree(ctx, in(w))
			return err
		}),
		"conversation.queue": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			_, err := s.Chats.Queue(ctx, c.ID)
			return err
		}),
		"conversation.why": failed(func(ctx context.Context, w *world, s *service.Service) error {
			_, err := s.Chats.Why(ctx, w.secret, "1", w.gendry)
			return err
		}),
		"conversation.chains": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			_, err := s.Chats.Chains(ctx, c)
			return err
		}),
		"conversation.limits": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			_, err := s.Chats.Limits(ctx, c)
			return err
		}),
		"conversation.participants": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			_, err := s.Chats.Participants(ctx, c)
			return err
		}),
		"conversation.wait": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := s.Chats.AwaitIdle(ctx, c, nil)
			if errors.Is(err, context.DeadlineExceeded) {
				return nil
			}
			return err
		}),
		"conversation.send": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			_, err := s.Chats.Send(ctx, c, "hello", alias)
			return err
		}),
		"conversation.steer": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			_, err := s.Chats.Steer(ctx, c, "hello", nil, alias)
			return err
		}),
		"conversation.withdraw": failed(func(ctx context.Context, w *world, s *service.Service) error {
			_, err := s.Chats.Withdraw(ctx, w.input.ID)
			return err
		}),
		"conversation.mode": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			_, err := s.Chats.SetMode(ctx, c, "plan")
			return err
		}),
		"conversation.accept": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			_, err := s.Chats.AcceptPlan(ctx, c, fika.Entry{ID: "x", Meta: fika.EntryMeta{WriterName: "gendry"}}, "edit", alias)
			return err
		}),
		"conversation.rewind": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			_, err := s.ChatControl.Rewind(ctx, c, 1, true)
			return err
		}),
		"conversation.create": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			_, err := s.Chats.CreateUnnamed(ctx)
			return err
		}),
		"conversation.enter": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			_, err := s.Chats.Enter(ctx, c, alias)
			return err
		}),
		"conversation.invite": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			return s.Chats.Invite(ctx, c, nil)
		}),
		"conversation.session": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			_, err := s.Chats.Session(ctx, true)
			return err
		}),
		"conversation.stop": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			_, err := s.ChatControl.Stop(ctx, c)
			return err
		}),
		"conversation.continue": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			_, err := s.ChatControl.Continue(ctx, c)
			return err
		}),
		"conversation.clear": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error { return s.Chats.Clear(ctx, c) }),
		"conversation.compact": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			_, err := s.ChatControl.Compact(ctx, c, "", service.CompactionOrder{})
			return err
		}),
		"conversation.delete": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			_, err := s.Chats.Delete(ctx, c)
			return err
		}),
		"conversation.rename": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			_, err := s.Chats.Rename(ctx, c, "other")
			return err
		}),
		"conversation.pin": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			_, err := s.Chats.Pin(ctx, c, 1, true)
			return err
		}),
		"conversation.unpin": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			_, err := s.Chats.Pin(ctx, c, 1, false)
			return err
		}),
		"conversation.retry": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			_, err := s.Chats.RetryDead(ctx, c, "")
			return err
		}),
		"conversation.cleanup": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			_, err := s.Chats.Cleanup(ctx, true)
			return err
		}),
		"conversation.pause": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			return s.ChatControl.Pause(ctx, c)
		}),
		"conversation.resume": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			return s.ChatControl.Resume(ctx, c)
		}),
		"conversation.hold": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			_, err := s.ChatControl.HoldPaused(ctx, c, "x")
			return err
		}),
		"conversation.limit": ofChat(func(ctx context.Context, s *service.Service, c fika.Conversation) error {
			return s.Chats.SetLimits(ctx, c, c.Limits)
		}),
	}
}

func agentCalls() map[string]call {
	alias := service.Alias{}
	return map[string]call{
		"agent.list": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			_, err := s.Agents.List(ctx, true)
			return err
		}),
		"agent.show": ofAgent(func(ctx context.Context, s *service.Service, a fika.Agent) error { return s.Agents.MayRead(a) }),
		"agent.recall": ofAgent(func(ctx context.Context, s *service.Service, a fika.Agent) error {
			_, err := s.Agents.Recall(ctx, a, "sesame", 1)
			return err
		}),
		"agent.attach": ofAgent(func(ctx context.Context, s *service.Service, a fika.Agent) error {
			_, err := s.Agents.Statuses(ctx, a)
			if fika.IsKind(err, fika.NotFound) { // no hub runs
				return nil
			}
			return err
		}),
		"agent.ask": ofAgent(func(ctx context.Context, s *service.Service, a fika.Agent) error {
			_, err := s.Requests.Submit(ctx, a, service.Ask{Kind: fika.AskRequest, Prompt: "x"})
			return err
		}),
		"agent.task": ofAgent(func(ctx context.Context, s *service.Service, a fika.Agent) error {
			_, err := s.Requests.Submit(ctx, a, service.Ask{Kind: fika.TaskRequest, Prompt: "x"})
			return err
		}),
		"agent.message": ofAgent(func(ctx context.Context, s *service.Service, a fika.Agent) error {
			_, err := s.SendToContext(ctx, a.Name, "x", alias)
			return err
		}),
		"agent.start": ofAgent(func(ctx context.Context, s *service.Service, a fika.Agent) error {
			_, err := s.Agents.Start(ctx, a, 0)
			return err
		}),
		"agent.stop": ofAgent(func(ctx context.Context, s *service.Service, a fika.Agent) error {
			_, err := s.Agents.Stop(ctx, a, fika.DesiredStopped, 0)
			return err
		}),
		"agent.move": ofAgent(func(ctx context.Context, s *service.Service, a fika.Agent) error {
			return s.Agents.Move(ctx, a, "box", false)
		}),
		"agent.switch": ofAgent(func(ctx context.Context, s *service.Service, a fika.Agent) error {
			_, err := s.Agents.Switch(ctx, a, "x")
			return err
		}),
		"agent.model": ofAgent(func(ctx context.Context, s *service.Service, a fika.Agent) error {
			return s.Agents.SetModel(ctx, a.Name, "m")
		}),
		"agent.reset": ofAgent(func(ctx context.Context, s *service.Service, a fika.Agent) error {
			_, err := s.Agents.Reset(ctx, a)
			return err
		}),
		"agent.unbind": ofAgent(func(ctx context.Context, s *service.Service, a fika.Agent) error {
			_, _, err := s.Agents.Unbind(ctx, a)
			return err
		}),
		"agent.compact": ofAgent(func(ctx context.Context, s *service.Service, a fika.Agent) error {
			_, _, err := s.Agents.Compact(ctx, a.Name, service.CompactionOrder{})
			return err
		}),
	}
}

func requestCalls() map[string]call {
	return map[string]call{
		"request.list": counted(func(ctx context.Context, w *world, s *service.Service) ([]service.RequestInfo, error) {
			ended, err := s.Chats.EndedSince(ctx, w.secret, time.Time{})
			if err != nil {
				return ended, err
			}
			return s.Requests.List(ctx, service.RequestFilter{Limit: 5})
		}),
		"request.show": ofRequest(func(ctx context.Context, s *service.Service, id fika.RequestID) error {
			_, err := s.Requests.Request(ctx, id)
			return err
		}),
		"request.family": ofRequest(func(ctx context.Context, s *service.Service, id fika.RequestID) error {
			_, err := s.Requests.Family(ctx, id)
			return err
		}),
		"request.entries": ofRequest(func(ctx context.Context, s *service.Service, id fika.RequestID) error {
			_, err := s.Requests.Entries(ctx, id)
			return err
		}),
		"request.steps": ofRequest(func(ctx context.Context, s *service.Service, id fika.RequestID) error {
			_, err := s.Requests.ModelRounds(ctx, id)
			return err
		}),
		"request.rounds": ofRequest(func(ctx context.Context, s *service.Service, id fika.RequestID) error {
			_, err := s.Requests.ModelRounds(ctx, id)
			return err
		}),
		"request.trace": ofRequest(func(ctx context.Context, s *service.Service, id fika.RequestID) error {
			_, err := s.Trace(ctx, string(id))
			return err
		}),
		"request.wait": ofRequest(func(ctx context.Context, s *service.Service, id fika.RequestID) error {
			f, err := s.Requests.Follow("gendry")
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err = f.Await(ctx, id, func(message.Status) {})
			if errors.Is(err, context.DeadlineExceeded) {
				err = nil
			}
			return errors.Join(err, f.Close())
		}),
		"request.cancel": ofRequest(func(ctx context.Context, s *service.Service, id fika.RequestID) error {
			_, err := s.Requests.Cancel(ctx, id, "x")
			return err
		}),
		"request.retry": ofRequest(func(ctx context.Context, s *service.Service, id fika.RequestID) error {
			_, err := s.Requests.Retry(ctx, id)
			return err
		}),
		"request.undo": ofRequest(func(ctx context.Context, s *service.Service, id fika.RequestID) error {
			_, err := s.Undo().Apply(ctx, id)
			return err
		}),
	}
}

func runCalls() map[string]call {
	return map[string]call{
		"run.list": counted(func(ctx context.Context, _ *world, s *service.Service) ([]service.Run, error) {
			return s.Runs().List(ctx, true, 5)
		}),
		"run.show": ofRun(func(ctx context.Context, s *service.Runs, id fika.RequestID) error {
			_, err := s.Find(ctx, string(id))
			return err
		}),
		"run.steps": ofRun(func(ctx context.Context, s *service.Runs, id fika.RequestID) error {
			_, err := s.Steps(ctx, id)
			return err
		}),
		"run.output": ofRun(func(ctx context.Context, s *service.Runs, id fika.RequestID) error {
			_, err := s.UnderWay(ctx, id)
			return err
		}),
		"run.definition": ofRun(func(ctx context.Context, s *service.Runs, id fika.RequestID) error {
			_, err := s.Definition(ctx, id)
			return err
		}),
		"run.file-changes": failed(func(ctx context.Context, w *world, s *service.Service) error {
			_, _, err := s.Runs().FileChanges(ctx, w.run)
			return err
		}),
		"run.wait": ofRun(func(ctx context.Context, s *service.Runs, id fika.RequestID) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := s.Await(ctx, id, nil, nil)
			if errors.Is(err, context.DeadlineExceeded) {
				return nil
			}
			return err
		}),
		"run.start": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			d, err := workflow.Load("asks", "asks.toml", []byte("[[steps]]\nid = 'ask'\napprove = true\nprompt = 'go on?'\n"), workflow.Known{})
			if err == nil {
				_, err = s.Runs().Start(ctx, d, nil)
			}
			return err
		}),
		"run.team": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			line, _, err := service.TeamLine("@arya, @gendry: which?")
			if err == nil {
				_, _, err = s.Runs().StartTeam(ctx, line)
			}
			return err
		}),
		"run.pause": ofRun(func(ctx context.Context, s *service.Runs, id fika.RequestID) error {
			_, err := s.Pause(ctx, id)
			return err
		}),
		"run.continue": ofRun(func(ctx context.Context, s *service.Runs, id fika.RequestID) error {
			_, err := s.Continue(ctx, id)
			return err
		}),
		"run.cancel": ofRun(func(ctx context.Context, s *service.Runs, id fika.RequestID) error {
			_, err := s.Cancel(ctx, id, "x")
			return err
		}),
		"run.resume": failed(func(ctx context.Context, w *world, s *service.Service) error {
			_, err := s.Runs().Resume(ctx, w.run, nil, "")
			return err
		}),
	}
}

func boardCalls() map[string]call {
	of := func(do func(context.Context, *service.Board, fika.TaskNumber) (service.TaskInfo, error)) call {
		return failed(func(ctx context.Context, w *world, s *service.Service) error {
			_, err := do(ctx, s.Board(), w.task)
			return err
		})
	}
	return map[string]call{
		"board.list": counted(func(ctx context.Context, _ *world, s *service.Service) ([]service.TaskInfo, error) {
			return s.Board().List(ctx, service.TaskFilter{})
		}),
		"board.show": of(func(ctx context.Context, b *service.Board, n fika.TaskNumber) (service.TaskInfo, error) {
			v, err := b.Find(ctx, n)
			return v.TaskInfo, err
		}),
		"board.why": failed(func(ctx context.Context, w *world, s *service.Service) error {
			_, err := s.Board().Why(ctx, w.task)
			return err
		}),
		"board.add": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			_, err := s.Board().Add(ctx, []service.NewTask{{Title: "x"}})
			return err
		}),
		"board.report": of(func(ctx context.Context, b *service.Board, n fika.TaskNumber) (service.TaskInfo, error) {
			return b.Report(ctx, n, service.TaskReport{Note: "x"})
		}),
		"board.edit": of(func(ctx context.Context, b *service.Board, n fika.TaskNumber) (service.TaskInfo, error) {
			return b.Edit(ctx, n, service.TaskEdit{})
		}),
		"board.assign": of(func(ctx context.Context, b *service.Board, n fika.TaskNumber) (service.TaskInfo, error) {
			return b.Assign(ctx, n, "arya")
		}),
		"board.release": of(func(ctx context.Context, b *service.Board, n fika.TaskNumber) (service.TaskInfo, error) {
			return b.Release(ctx, n, "")
		}),
		"board.close": of(func(ctx context.Context, b *service.Board, n fika.TaskNumber) (service.TaskInfo, error) {
			return b.Close(ctx, n, false, "")
		}),
		"board.reopen": of(func(ctx context.Context, b *service.Board, n fika.TaskNumber) (service.TaskInfo, error) {
			return b.Reopen(ctx, n, "")
		}),
	}
}

func offerCalls() map[string]call {
	return map[string]call{
		"offer.list": counted(func(ctx context.Context, _ *world, s *service.Service) ([]service.PlacedOffer, error) {
			return s.Offers().List(ctx, service.OfferFilter{})
		}),
		"offer.show": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			_, err := s.Offers().Find(ctx, 1)
			return err
		}),
		"offer.add": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			_, _, err := s.Offers().Add(ctx, "main")
			return err
		}),
		"offer.submit": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			_, err := s.Offers().Submit(ctx, "")
			return err
		}),
		"offer.cancel": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			_, err := s.Offers().Cancel(ctx, 1, "")
			return err
		}),
		"offer.retry": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			_, err := s.Offers().Retry(ctx, 1, nil)
			return err
		}),
		"offer.apply": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			_, err := s.Offers().Apply(ctx)
			return err
		}),
	}
}

func schedule(_ service.Schedule, err error) error { return err }
func occurred(_ store.Occurred, err error) error   { return err }

// both returns an error of two that must agree on whether they are refused.
func both(t *testing.T, a, b error) error {
	if refused(a) != refused(b) {
		t.Errorf("one way is refused and the other is not: %v; %v", a, b)
	}
	return a
}

// refused reports whether an error is a refusal. An agent does not find what it may not
// know of.
func refused(err error) bool { return fika.IsKind(err, fika.Denied) }
