package service

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/chat/reading"
	"fika/internal/rights/authority"
	"fika/internal/settings/config"
	"fika/internal/store"
	"fika/internal/text/hint"
)

// Agents is the interface to the agents of a home. It commits the desired
// state of an agent and then waits for it; a hub is needed only to start processes.
type Agents struct{ c *Service }

// List returns, by name, the agents that have an [[agents]] entry, a process, work
// or a desired state. With all it also returns contexts that have none of these.
func (s *Agents) List(ctx context.Context, all bool) ([]AgentView, error) {
	if err := s.c.may("agent.list"); err != nil {
		return nil, err
	}
	rows, err := s.Rows(ctx)
	if err != nil {
		return nil, err
	}
	views, err := s.views(ctx, rows)
	if err != nil || all {
		return views, err
	}
	return slices.DeleteFunc(views, func(v AgentView) bool {
		return !v.Entry && !v.Alive() && v.Waiting+len(v.Running) == 0 && v.Row.Desired == fika.DesiredNone && v.Why.Code != api.AgentNoHost
	}), nil
}

// views returns the current views of agents for lists.
func (s *Agents) views(ctx context.Context, rows []fika.Agent) ([]AgentView, error) {
	survey, err := newAgentSurvey(ctx, s.c)
	if err != nil {
		return nil, err
	}
	return survey.views(ctx, rows)
}

// Rows returns the agents of the store and those that only the configuration names so
// far, sorted by name.
func (s *Agents) Rows(ctx context.Context) ([]fika.Agent, error) {
	rows, err := s.c.store.ListAgents(ctx)
	if err != nil {
		return nil, err
	}
	known := map[fika.AgentName]bool{}
	for _, r := range rows {
		known[r.Name] = true
	}
	for _, e := range s.c.config().Agents {
		if n := fika.AgentName(e.ID); !known[n] {
			rows = append(rows, fika.Agent{Name: n, DisplayName: e.Name, Description: e.Description, State: fika.AgentStopped, Instances: e.Instances})
		}
	}
	slices.SortFunc(rows, func(a, b fika.Agent) int {
		of, ofOther := s.place(a.Name), s.place(b.Name)
		return cmp.Or(strings.Compare(of.pool, ofOther.pool), cmp.Compare(of.n, ofOther.n), strings.Compare(string(a.Name), string(b.Name)))
	})
	return rows, nil
}

// place is an agent's position in a list: members are listed below their pool, by
// number.
type place struct {
	pool string
	n    int
}

func (s *Agents) place(name fika.AgentName) place {
	if e := s.c.config().Agent(name); e != nil && e.Pool != "" {
		n, _ := strconv.Atoi(strings.TrimPrefix(e.ID, e.Pool+"-"))
		return place{e.Pool, n}
	}
	return place{pool: string(name)}
}

// View returns the view of one agent, given the name that a person typed.
func (s *Agents) View(ctx context.Context, name string) (AgentView, error) {
	row, err := s.Find(ctx, name)
	if err != nil {
		return AgentView{}, err
	}
	views, err := s.views(ctx, []fika.Agent{row})
	if err != nil {
		return AgentView{}, err
	}
	return views[0], nil
}

// Find returns an agent by name. If only the configuration names the agent, Find
// creates its row, as the hub does at start. A NotFound error suggests the nearest
// name.
func (s *Agents) Find(ctx context.Context, name string) (fika.Agent, error) {
	n, err := fika.ParseAgentName(name)
	if err != nil {
		return fika.Agent{}, err
	}
	row, err := s.c.store.Agent(ctx, n)
	entry := s.c.config().Agent(n)
	if err == nil && entry == nil {
		return s.c.app.DissolvePool(ctx, s.c.store, s.c.home, row)
	}
	if err == nil && (entry.Instances == row.Instances || entry.Places > 0 && row.IsPool()) || err != nil && !fika.IsKind(err, fika.NotFound) {
		return row, err
	}
	if entry == nil {
		if err := s.c.app.Untrusted(n); err != nil {
			return row, err
		}
		rows, err := s.Rows(ctx)
		if err != nil {
			return row, err
		}
		return row, app.NoAgent(n, rows, s.c.app.Colleagues(""))
	}
	return s.c.app.EnsureEntry(ctx, s.c.store, s.c.home, entry)
}

// FindLone is [Agents.Find] for operations that need a single agent. It returns Invalid
// for a pool.
func (s *Agents) FindLone(ctx context.Context, name string) (fika.Agent, error) {
	row, err := s.Find(ctx, name)
	if err == nil {
		err = s.c.app.PoolRefusal(row.Name)
	}
	return row, err
}

// Members replaces each pool in rows by its members, and returns each agent once.
func (s *Agents) Members(ctx context.Context, rows []fika.Agent) ([]fika.Agent, error) {
	var out []fika.Agent
	for _, row := range rows {
		list := []fika.Agent{row}
		if e := s.c.config().Agent(row.Name); e != nil && e.Instances > 0 {
			list = nil
			for _, name := range e.Members() {
				member, err := s.Find(ctx, string(name))
				if e.Places > 0 && fika.IsKind(err, fika.NotFound) {
					continue // no host has taken it
				}
				if err != nil {
					return nil, err
				}
				list = append(list, member)
			}
		}
		for _, a := range list {
			if !slices.ContainsFunc(out, func(o fika.Agent) bool { return o.Name == a.Name }) {
				out = append(out, a)
			}
		}
	}
	return out, nil
}

// ensureMentioned creates the rows of agents that a text may mention and that only the
// configuration names so far, because no hub has run since.
func (s *Agents) ensureMentioned(ctx context.Context, text string) error {
	text = strings.ToLower(text)
	for _, entry := range s.c.config().Agents {
		if strings.Contains(text, "@"+strings.ToLower(entry.ID)) {
			if _, err := s.Find(ctx, entry.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// FindKnown returns an agent that has a row, given the name that a person typed, and
// creates none. A NotFound error suggests the nearest name.
func (s *Agents) FindKnown(ctx context.Context, name string) (fika.Agent, error) {
	return app.FindAgent(ctx, s.c.store, name, s.c.app.Colleagues(""))
}

// FindRecipient returns the agent of a context or of an [[agents]] entry, and creates
// its row if it is missing.
func (s *Agents) FindRecipient(ctx context.Context, name fika.AgentName) (fika.Agent, error) {
	return s.c.app.Recipient(ctx, name)
}

// Match returns the agents that match patterns with * ? [a-z], each once, in the order
// of the list. It returns NotFound for a pattern that matches nothing.
func (s *Agents) Match(ctx context.Context, patterns []string) ([]fika.Agent, error) {
	var out []fika.Agent
	add := func(r fika.Agent) {
		if !slices.ContainsFunc(out, func(o fika.Agent) bool { return o.Name == r.Name }) {
			out = append(out, r)
		}
	}
	for _, p := range patterns {
		if !strings.ContainsAny(p, "*?[") {
			row, err := s.Find(ctx, p)
			if err != nil {
				return nil, err
			}
			add(row)
			continue
		}
		views, err := s.List(ctx, false)
		if err != nil {
			return nil, err
		}
		before := len(out)
		for _, v := range views {
			ok, err := path.Match(strings.ToLower(p), string(v.Row.Name))
			if err != nil {
				return nil, fika.Errorf(fika.Invalid, "", "%q is not a pattern: %v", p, err)
			}
			if !ok {
				continue
			}
			row, err := s.Find(ctx, string(v.Row.Name))
			if err != nil {
				return nil, err
			}
			add(row)
		}
		if len(out) == before {
			return nil, fika.WithHint(fika.Errorf(fika.NotFound, "", "no agent matches %q", p), hint.AgentList)
		}
	}
	return out, nil
}

// eachMember calls do for each member of a pool, and returns the joined errors.
func (s *Agents) eachMember(ctx context.Context, pool fika.Agent, do func(fika.Agent) error) error {
	members, err := s.Members(ctx, []fika.Agent{pool})
	for _, m := range members {
		if !m.IsPool() {
			err = errors.Join(err, do(m))
		}
	}
	return err
}

// Unbind ends the binding of this person to a member of a pool, so that their next ask
// of the pool chooses a member anew. It returns the member, and false if there was no
// binding.
func (s *Agents) Unbind(ctx context.Context, pool fika.Agent) (fika.Agent, bool, error) {
	if err := s.c.may("agent.unbind"); err != nil {
		return fika.Agent{}, false, err
	}
	settings, err := s.c.app.PlainSettings(pool.Name)
	if err != nil {
		return fika.Agent{}, false, err
	}
	was, err := once(ctx, s.c, "agent.unbind", []any{pool.ID, settings.Username}, func(to *store.Store) (*fika.Agent, error) {
		was, found, err := to.Unbind(ctx, pool.ID, settings.Username)
		if !found || err != nil {
			return nil, err
		}
		return &was, nil
	}, func(done *store.Repeated) (*fika.Agent, error) {
		rows, err := s.c.store.ListAgents(ctx)
		for _, r := range rows {
			if r.ID == done.Last(store.ConversationEvent).Agent {
				return &r, err
			}
		}
		return nil, err
	})
	if was == nil || err != nil {
		return fika.Agent{}, false, err
	}
	s.c.wakeHub(ctx, was.Name)
	return *was, true, nil
}

// Reset gives an agent a new, empty ask conversation; the old one stays. For a pool,
// the member that this person is bound to gets the new conversation and the binding
// ends; without a binding nothing changes.
func (s *Agents) Reset(ctx context.Context, row fika.Agent) (fika.Conversation, error) {
	if err := s.c.may("agent.reset"); err != nil {
		return fika.Conversation{}, err
	}
	if row.IsPool() {
		was, found, err := s.Unbind(ctx, row)
		if err != nil || !found {
			return fika.Conversation{}, err
		}
		return s.c.store.ActiveAsk(ctx, was.ID)
	}
	conv, err := s.c.Chats.createOnce(ctx, "agent.reset", []any{row.ID}, func(to *store.Store) (fika.Conversation, error) {
		return to.ResetAsk(ctx, row.ID)
	})
	if err == nil {
		s.c.wakeHub(ctx, row.Name)
	}
	return conv, err
}

// Switch makes another ask conversation the agent's active one.
func (s *Agents) Switch(ctx context.Context, row fika.Agent, name string) (fika.Conversation, error) {
	if err := s.c.may("agent.switch"); err != nil {
		return fika.Conversation{}, err
	}
	n, err := fika.ParseConversationName(name)
	if err != nil {
		return fika.Conversation{}, err
	}
	conv, err := s.c.store.Conversation(ctx, n)
	if err != nil {
		return conv, err
	}
	if conv.Kind != fika.Ask || conv.Agent != row.ID {
		return conv, fika.WithHint(fika.Errorf(fika.Invalid, "", "%s is not an ask conversation of @%s", n, row.Name), hint.ConversationAsks.With(row.Name))
	}
	if err := s.c.store.SwitchAsk(ctx, row.ID, conv.ID); err != nil {
		return conv, err
	}
	s.c.wakeHub(ctx, row.Name)
	return conv, nil
}

// MayRead returns Denied if an agent asks through a command in one of its tools for all
// that another one shows: its log and its statuses are of every conversation.
func (s *Agents) MayRead(row fika.Agent) error {
	v := s.c.sight()
	if v.full() || v.reader() == row.Name {
		return nil
	}
	return v.check("agent.logs", authority.Foreign, "all the work of "+string(row.Name))
}

// LogFile returns the path of the log that receives the output of an agent started by
// the hub.
func (s *Agents) LogFile(name fika.AgentName) string { return s.c.home.LogFile(name) }

// SetModel makes an agent use another model from its next turn on. The choice is stored
// in its context's local.toml. It returns Invalid for an unknown model.
func (s *Agents) SetModel(ctx context.Context, name fika.AgentName, model string) error {
	if err := s.c.may("agent.model"); err != nil {
		return err
	}
	if _, err := s.c.app.Settings(name, map[string]string{"model": model}, false); err != nil {
		return err
	}
	f, _, err := s.c.home.Ensure(name)
	if err != nil {
		return err
	}
	return config.SetKey(f.LocalConfig(), "model", model)
}

// Recall returns what the agent's own tool recall would find in its past.
func (s *Agents) Recall(ctx context.Context, agent fika.Agent, query string, limit int) ([]Found, error) {
	if err := s.c.mayAgent(ctx, "agent.recall", agent.Name); err != nil {
		return nil, err
	}
	return reading.Past{Store: s.c.store, Agent: agent}.Find(ctx, query, limit)
}
