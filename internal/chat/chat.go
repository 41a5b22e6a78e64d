package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/mention"
	"fika/internal/store"
)

// Store is what this package needs of the store.
type Store interface {
	ListAgents(context.Context) ([]fika.Agent, error)
	Participants(context.Context, fika.ConversationID) ([]string, error)
	Post(context.Context, store.Post) (store.Posted, error)
}

// Bell tells those who wait. Its methods do not fail: nothing depends on them.
type Bell interface {
	// Ring tells agents to look at the store.
	Ring(...fika.AgentName)
	// Show passes committed entries to whoever watches the conversation.
	Show(fika.Conversation, ...fika.Entry)
}

// Chats posts messages and finds out whom they concern. It may be used from
// many goroutines.
type Chats struct {
	Store  Store
	Bell   Bell
	Parser *mention.Parser
}

// New makes a Chats with a parser of its own.
func New(s Store, b Bell) *Chats { return &Chats{Store: s, Bell: b, Parser: mention.New()} }

// Said is a message of a person.
type Said struct {
	ID       fika.EntryID // empty: made
	From     string       // as displayed
	Username string       // who it really is
	Text     string
	TTL      time.Duration
}

// Sent is what came of a message.
type Sent struct {
	store.Posted
	All    bool // @all was expanded
	Nobody bool // it concerns no agent
}

// Send stores what a person said and rings whom it concerns. A mention of an
// agent that does not exist is refused before anything is stored (NotFound,
// with the nearest name).
func (c *Chats) Send(ctx context.Context, conv fika.Conversation, s Said) (Sent, error) {
	if strings.TrimSpace(s.Text) == "" {
		return Sent{}, fika.Errorf(fika.Invalid, "send", "the message is empty")
	}
	agents, err := c.Store.ListAgents(ctx)
	if err != nil {
		return Sent{}, err
	}
	if err := notAnAgent(agents, s.From); err != nil {
		return Sent{}, err
	}
	found := c.Parser.Parse(s.Text, mention.Known{Agents: names(agents), Human: s.Username})
	if len(found.Unknown) > 0 {
		return Sent{}, unknown(found.Unknown)
	}
	notify := found.Agents
	if found.All {
		if notify, err = c.everybody(ctx, conv, agents, notify); err != nil {
			return Sent{}, err
		}
	}
	posted, err := c.Store.Post(ctx, store.Post{
		Conversation: conv.ID, ID: s.ID, From: s.From, Writer: fika.ByHuman, WriterName: s.Username,
		Content: s.Text, Notify: notify, TTL: s.TTL,
	})
	if err != nil {
		return Sent{}, err
	}
	c.Bell.Show(conv, posted.Entry)
	c.Bell.Ring(posted.Notified...)
	return Sent{Posted: posted, All: found.All, Nobody: len(notify) == 0}, nil
}

// Mentioned finds whom the final text of agent self concerns: existing agents,
// each once, never itself, and never everybody at once.
func (c *Chats) Mentioned(ctx context.Context, self fika.AgentName, text string) ([]fika.AgentName, error) {
	if !strings.Contains(text, "@") {
		return nil, nil
	}
	agents, err := c.Store.ListAgents(ctx)
	if err != nil {
		return nil, err
	}
	found := c.Parser.Parse(text, mention.Known{Agents: names(agents)})
	return slices.DeleteFunc(found.Agents, func(n fika.AgentName) bool { return n == self }), nil
}

func (c *Chats) everybody(ctx context.Context, conv fika.Conversation, agents []fika.Agent, also []fika.AgentName) ([]fika.AgentName, error) {
	in, err := c.Store.Participants(ctx, conv.ID)
	if err != nil {
		return nil, err
	}
	for _, a := range agents {
		if slices.Contains(in, string(a.Name)) && !slices.Contains(also, a.Name) {
			also = append(also, a.Name)
		}
	}
	return also, nil
}

func names(agents []fika.Agent) []fika.AgentName {
	out := make([]fika.AgentName, len(agents))
	for i, a := range agents {
		out[i] = a.Name
	}
	return out
}

func notAnAgent(agents []fika.Agent, from string) error {
	for _, a := range agents {
		if strings.EqualFold(string(a.Name), from) {
			return fika.Errorf(fika.Denied, "send", "%q is an agent's name; a person cannot speak as an agent", from)
		}
	}
	return nil
}

func unknown(list []mention.Unknown) error {
	var parts []string
	for _, u := range list {
		part := fmt.Sprintf("no agent named %q", u.Name)
		if len(u.Near) > 0 {
			part += fmt.Sprintf("; did you mean %q?", u.Near[0])
		}
		parts = append(parts, part)
	}
	return fika.Errorf(fika.NotFound, "send", "%s (nothing was sent; put the name in `backquotes` if it is no mention)", strings.Join(parts, ", "))
}

// Nearest gives the agent whose name is spelled most like word, or "".
func Nearest(word string, agents []fika.Agent) fika.AgentName {
	found := mention.Parse("@"+word, mention.Known{Agents: names(agents)})
	if len(found.Unknown) == 0 || len(found.Unknown[0].Near) == 0 {
		return ""
	}
	return found.Unknown[0].Near[0]
}
