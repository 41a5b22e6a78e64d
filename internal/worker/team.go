package worker

import (
	"context"
	"slices"

	"fika"
	"fika/internal/app"
	"fika/internal/chat/colleague"
	"fika/internal/store"
	"fika/internal/tool"
)

// reaching are the tools through which one agent asks another. An agent with none of
// them is not told about colleagues.
var reaching = [...]string{"send_message", "delegate"}

// team lists the agents that an agent may ask, and the tools it asks them with.
type team struct {
	store   *store.Store
	members []colleague.Colleague // empty without tools
	tools   []string
}

func newTeam(a *app.App, s *store.Store, self fika.AgentName, has func(tool string) bool) team {
	t := team{store: s}
	for _, name := range reaching {
		if has(name) {
			t.tools = append(t.tools, name)
		}
	}
	if len(t.tools) > 0 {
		t.members = a.Colleagues(self)
	}
	return t
}

// block returns what a system prompt says about the team.
func (t team) block() string { return colleague.PromptParagraph(t.members, t.tools) }

// company returns who takes part in a conversation, and says which members of the team are
// busy or stopped; of those who take part, only the latter: that they are busy there changes
// with every message.
func (t team) company(ctx context.Context, c fika.ConversationID) (in []string, standing string, err error) {
	names := make([]fika.AgentName, len(t.members))
	for i, m := range t.members {
		names[i] = m.Name
	}
	in, rows, err := t.store.Company(ctx, c, names)
	if err != nil {
		return nil, "", err
	}
	var list []colleague.State
	for _, r := range rows {
		h := how(r)
		if h == busy && slices.Contains(in, string(r.Name)) {
			h = ""
		}
		list = append(list, colleague.State{Name: r.Name, How: h})
	}
	return in, colleague.NotReady(list), nil
}

const busy = "busy"

func how(s store.Standing) string {
	switch {
	case s.Desired.Stopped():
		return "stopped"
	case s.State == fika.AgentFailed:
		return "failed"
	case s.Busy:
		return busy
	}
	return ""
}

// offers returns a function that reports whether a model is offered a tool.
func offers(s *tool.Set) func(string) bool {
	offer := s.OfferedSpecs()
	return func(name string) bool {
		return slices.ContainsFunc(offer, func(spec tool.Spec) bool { return spec.Name == name })
	}
}

// ColleaguesBlock returns what the system prompt of an agent's process says about the
// agents it may ask; off are the tools it does not have.
func ColleaguesBlock(a *app.App, self fika.AgentName, off []string) string {
	return newTeam(a, nil, self, func(name string) bool { return !slices.Contains(off, name) }).block()
}
