package service

import (
	"context"
	"slices"
	"strings"

	"fika"
	"fika/internal/repository/git"
	"fika/internal/settings/config"
	"fika/internal/turn"
)

// ContextUse says how full the window of an agent's model is in a chat.
type ContextUse struct {
	Agent   fika.AgentName
	Model   string
	Tokens  int64 // of the last call of the model and what was added since
	Counted bool  // the provider counted the call; otherwise all of it is estimated
	Window  int64 // tokens; 0: nobody knows
	// Kinds is what takes the room, estimated; nil unless it was asked for.
	Kinds []ContextKind
}

// Percent returns how much of the window is taken; false if that is not known.
func (u ContextUse) Percent() (int, bool) {
	if u.Window == 0 || u.Tokens == 0 {
		return 0, false
	}
	return int((100*u.Tokens + u.Window/2) / u.Window), true
}

// ContextKind is a part of what a model is sent.
type ContextKind struct {
	Name    string
	Entries int
	Tokens  int64
}

// The kinds of ContextUse, in their order.
const (
	ContextFixed    = "instructions and tools"
	ContextSummary  = "summary of what was before"
	ContextPersons  = "messages of persons"
	ContextAgents   = "answers of agents"
	ContextCalls    = "tool calls"
	ContextResults  = "tool results"
	ContextPictures = "pictures"
)

// ContextUse returns how full the window of an agent is in a chat. With kinds, it reads
// everything that the agent still sees; otherwise only the newest entries.
func (s *Chats) ContextUse(ctx context.Context, conv fika.Conversation, agent fika.AgentName, kinds bool) (ContextUse, error) {
	u := ContextUse{Agent: agent}
	set, err := s.c.app.Settings(agent, nil, true)
	if err != nil {
		return u, err
	}
	u.Model, u.Window = set.Model.ID, set.ContextWindow
	if set.Model.ContextWindow == 0 && set.ContextWindow == config.DefaultContextWindow {
		u.Window = 0
	}
	row, err := s.c.Agents.Find(ctx, string(agent))
	if err != nil {
		return u, err
	}
	f, err := s.c.store.Frame(ctx, conv.ID, row.ID, 1<<62)
	if err != nil {
		return u, err
	}
	for last := 64; ; last *= 8 {
		var list []fika.Entry
		if _, err := s.Read(ctx, EntryQuery{Conversation: conv.ID, Last: last}, func(x fika.Entry) error { list = append(list, x); return nil }); err != nil {
			return u, err
		}
		whole := len(list) < last
		list = slices.DeleteFunc(list, func(x fika.Entry) bool { return f.Cuts.Has(x.Seq) })
		if done := u.measure(list, row, kinds, whole); done || whole {
			return u, nil
		}
	}
}

// measure adds up what an agent sees of the newest entries of a chat; false: the entries
// before them are needed, too.
func (u *ContextUse) measure(list []fika.Entry, row fika.Agent, kinds, whole bool) bool {
	cut := -1
	for i := len(list) - 1; i >= 0 && cut < 0; i-- {
		if x := list[i]; x.Type == fika.Compaction && (x.Meta.View == "" || x.Meta.View == row.ID) && x.Meta.Undo == 0 {
			cut = i
		}
	}
	seen := list[cut+1:]
	u.Tokens, u.Counted = 0, false
	for i := len(seen) - 1; i >= 0; i-- {
		x := seen[i]
		if c := x.Meta.Usage; c != nil && x.Meta.WriterName == string(row.Name) && c.Input+c.Output > 0 {
			u.Tokens, u.Counted = u.Tokens+c.Input+c.Output, true
			break
		}
		u.Tokens += turn.EstimateEntry(x)
	}
	if cut >= 0 && !u.Counted {
		u.Tokens += turn.EstimateTokens(list[cut].Meta.Summary)
	}
	if kinds {
		u.sort(list, cut)
	}
	return u.Counted && !kinds || cut >= 0 && (len(list[cut].Meta.Kept) == 0 || list[0].Seq <= list[cut].Meta.Kept[0]) || whole
}

// sort divides what is seen after the entry cut by kinds.
func (u *ContextUse) sort(list []fika.Entry, cut int) {
	sums := map[string]*ContextKind{}
	for _, name := range []string{ContextFixed, ContextSummary, ContextPersons, ContextAgents, ContextCalls, ContextResults, ContextPictures} {
		sums[name] = &ContextKind{Name: name}
	}
	add := func(name string, tokens int64) {
		sums[name].Entries++
		sums[name].Tokens += tokens
	}
	var kept []int64
	if cut >= 0 {
		kept = list[cut].Meta.Kept
		add(ContextSummary, turn.EstimateTokens(list[cut].Meta.Summary))
	}
	for i, x := range list {
		if i <= cut && !slices.Contains(kept, x.Seq) {
			continue
		}
		for _, a := range x.Meta.Attachments {
			add(ContextPictures, a.Tokens())
		}
		x.Meta.Attachments = nil
		switch {
		case x.Type == fika.ToolCall:
			add(ContextCalls, turn.EstimateEntry(x))
		case x.Type == fika.ToolResult:
			add(ContextResults, turn.EstimateEntry(x))
		case x.Type == fika.Message && x.Meta.Writer == fika.ByAgent:
			add(ContextAgents, turn.EstimateEntry(x))
		case x.Type == fika.Message:
			add(ContextPersons, turn.EstimateEntry(x))
		}
	}
	rest := u.Tokens
	u.Kinds = nil
	for _, name := range []string{ContextSummary, ContextPersons, ContextAgents, ContextCalls, ContextResults, ContextPictures} {
		if k := sums[name]; k.Entries > 0 {
			rest -= k.Tokens
			u.Kinds = append(u.Kinds, *k)
		}
	}
	if u.Counted && rest > 0 { // what the provider counted beyond the conversation
		u.Kinds = slices.Insert(u.Kinds, 0, ContextKind{Name: ContextFixed, Tokens: rest})
	}
}

// Branch returns the branch of the repository that a folder is in, and how many of the
// folder's files differ from its last commit; "" outside of a repository.
func Branch(ctx context.Context, folder string) (name string, changed int) {
	name, err := git.RunLine(ctx, folder, "branch", "--show-current")
	if err != nil {
		return "", 0
	}
	if name = strings.TrimSpace(name); name == "" {
		name = "no branch"
	}
	if st, err := git.Status(ctx, folder); err == nil {
		changed = len(st.Files)
	}
	return name, changed
}
