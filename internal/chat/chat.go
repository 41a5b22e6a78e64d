package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/chat/colleague"
	"fika/internal/chat/mention"
	"fika/internal/store"
)

// Store is the part of the store that this package needs.
type Store interface {
	ListAgents(context.Context) ([]fika.Agent, error)
	AgentNames(context.Context) ([]fika.AgentName, error)
	Participants(context.Context, fika.ConversationID) ([]string, error)
	Post(context.Context, store.Post) (store.Posted, error)
	Join(ctx context.Context, c fika.ConversationID, people ...string) error
}

// Notifier tells those who wait. Its methods cannot fail, because nothing depends on
// them.
type Notifier interface {
	// Wake tells agents to look at the store.
	Wake(...fika.AgentName)
	// Show passes committed entries to those who watch the conversation.
	Show(fika.Conversation, ...fika.Entry)
}

// Chats posts messages and finds the agents that they concern. It is safe for
// concurrent use.
type Chats struct {
	Store  Store
	Notify Notifier
	Parser *mention.Parser
	Team   []colleague.Colleague // agents to name to a person who mentions nobody; empty: all agents
	// MayCall returns an error of kind Denied if self may not mention an agent; an
	// empty self is a person. If MayCall is nil, everybody may.
	MayCall func(ctx context.Context, self, to fika.AgentName) error
	// PoolOf returns the pool that an agent is a member of, or "". If PoolOf is nil,
	// there are no pools.
	PoolOf func(fika.AgentName) fika.AgentName
}

// New returns a Chats with a parser of its own.
func New(s Store, n Notifier) *Chats { return &Chats{Store: s, Notify: n, Parser: mention.New()} }

// Said is a message from a person, or from an agent that speaks through a command in
// one of its tools.
type Said struct {
	ID       fika.EntryID // empty: made by the store
	From     string       // as displayed
	Username string       // the username behind From
	Text     string
	TTL      time.Duration
	// Attachments are the message's pictures, which the text mentions.
	Attachments []fika.Attachment
	// Steer means that the message, if it is for one agent that is at work in the
	// conversation, waits for that one's turn.
	Steer bool
	// Accepts is the plan that the message accepts, with which the chat gets Mode.
	Accepts fika.EntryID
	Mode    fika.Mode
	// Agent is set if an agent speaks; From and Username are then ignored.
	Agent *AgentSays
}

// AgentSays says which agent speaks and what its message belongs to.
type AgentSays struct {
	Name  fika.AgentName
	Chain fika.RequestID
	Depth int // of the message
	// Rights bounds what the message causes; nil: no bound. Taint is the outside
	// source that the agent has read; empty: none.
	Rights *fika.Rights
	Taint  string
}

// Sent reports what came of a message.
type Sent struct {
	store.Posted
	All    bool // @all was expanded
	Person bool // it mentions a person
	Nobody bool // it concerns no agent
}

// Send stores a person's or an agent's message and wakes the agents that it concerns.
// A person's mention of an agent that does not exist is refused before anything is
// stored, with NotFound and the nearest name; an empty message is refused with
// Invalid.
func (c *Chats) Send(ctx context.Context, conv fika.Conversation, s Said) (Sent, error) {
	if strings.TrimSpace(s.Text) == "" {
		return Sent{}, fika.Errorf(fika.Invalid, "send", "the message is empty")
	}
	if s.Agent != nil {
		return c.sendAs(ctx, conv, s)
	}
	p, sent, err := c.Prepare(ctx, conv, s)
	if err != nil {
		return sent, err
	}
	if sent.Posted, err = c.Store.Post(ctx, p); err != nil {
		return Sent{}, err
	}
	c.Tell(conv, sent.Posted)
	return sent, nil
}

// Tell shows what was stored to those who watch, and wakes the agents notified.
func (c *Chats) Tell(conv fika.Conversation, p store.Posted) {
	if p.Input == nil {
		c.Notify.Show(conv, p.Entry)
	}
	c.Notify.Wake(p.Notified...)
}

// Prepare returns what Send would store of a person's message, and the agents that it
// would concern. It stores nothing.
func (c *Chats) Prepare(ctx context.Context, conv fika.Conversation, s Said) (store.Post, Sent, error) {
	agents, err := c.Store.ListAgents(ctx)
	if err != nil {
		return store.Post{}, Sent{}, err
	}
	for _, name := range []string{s.From, s.Username} {
		if err := notAnAgent(agents, name); err != nil {
			return store.Post{}, Sent{}, err
		}
	}
	known := mention.Known{Agents: agentNames(agents), Human: s.Username, People: []string{s.From}}
	var in []string
	if strings.Contains(s.Text, "@") {
		if in, err = c.Store.Participants(ctx, conv.ID); err != nil {
			return store.Post{}, Sent{}, err
		}
		known.People = append(known.People, PeopleAmong(in, agents)...)
	}
	found := c.Parser.Parse(s.Text, known)
	if len(found.Unknown) > 0 {
		return store.Post{}, Sent{}, unknownNames(found.Unknown, c.teamOf(agents))
	}
	notify := found.Agents
	if found.All {
		notify = c.leaveOutUncallable(ctx, addNamed(in, agents, notify), notify)
	}
	if err := c.mayCall(ctx, "", notify); err != nil {
		return store.Post{}, Sent{}, err
	}
	return store.Post{
		Conversation: conv.ID, ID: s.ID, From: s.From, Writer: fika.ByHuman, WriterName: s.Username,
		Content: s.Text, Notify: notify, TTL: s.TTL, Attachments: s.Attachments, Steer: s.Steer && !found.All && !found.Human,
		ReplyTo: s.Accepts, Accepts: s.Accepts, Mode: s.Mode,
	}, Sent{All: found.All, Person: found.Human, Nobody: len(notify) == 0}, nil
}

// sendAs stores an agent's message in the agent's chain and depth, and wakes the
// agents that it mentions. As in an agent's answers, an unknown name is just text and
// @all calls nobody.
func (c *Chats) sendAs(ctx context.Context, conv fika.Conversation, s Said) (Sent, error) {
	notify, err := c.Mentioned(ctx, conv, s.Agent.Name, s.Text)
	if err != nil {
		return Sent{}, err
	}
	if err := c.mayCall(ctx, s.Agent.Name, notify); err != nil {
		return Sent{}, err
	}
	posted, err := c.Store.Post(ctx, store.Post{
		Conversation: conv.ID, ID: s.ID, From: string(s.Agent.Name), Writer: fika.ByAgent, WriterName: string(s.Agent.Name),
		Content: s.Text, Notify: notify, TTL: s.TTL, Chain: s.Agent.Chain, Depth: s.Agent.Depth, Rights: s.Agent.Rights, Taint: s.Agent.Taint, Attachments: s.Attachments,
	})
	if err != nil {
		return Sent{}, err
	}
	c.Tell(conv, posted)
	return Sent{Posted: posted, Nobody: len(notify) == 0}, nil
}

// mayCall fails with Denied if a message concerns an agent that its writer may not
// call.
func (c *Chats) mayCall(ctx context.Context, self fika.AgentName, notify []fika.AgentName) error {
	for _, to := range notify {
		if c.MayCall == nil {
			return nil
		}
		if err := c.MayCall(ctx, self, to); err != nil {
			return err
		}
	}
	return nil
}

// leaveOutUncallable returns all without the agents that a person may not call,
// except those that were named.
func (c *Chats) leaveOutUncallable(ctx context.Context, all, named []fika.AgentName) []fika.AgentName {
	return slices.DeleteFunc(all, func(n fika.AgentName) bool {
		return !slices.Contains(named, n) && c.mayCall(ctx, "", []fika.AgentName{n}) != nil
	})
}

// Enter makes a person take part in a chat, so that others can mention them. It fails
// with Denied for an agent's name.
func (c *Chats) Enter(ctx context.Context, conv fika.Conversation, name string) error {
	agents, err := c.Store.ListAgents(ctx)
	if err != nil {
		return err
	}
	if err := notAnAgent(agents, name); err != nil {
		return err
	}
	in, err := c.Store.Participants(ctx, conv.ID)
	if err != nil || slices.Contains(in, name) {
		return err
	}
	return c.Store.Join(ctx, conv.ID, name)
}

// Mentioned returns the agents that the final text of agent self concerns in a chat:
// existing ones, each once, but never self or its pool, and never everybody at once.
// A person whose name begins with an agent's is not taken for that agent.
func (c *Chats) Mentioned(ctx context.Context, conv fika.Conversation, self fika.AgentName, text string) ([]fika.AgentName, error) {
	if !strings.Contains(text, "@") {
		return nil, nil
	}
	agents, err := c.Store.AgentNames(ctx)
	if err != nil {
		return nil, err
	}
	known := mention.Known{Agents: agents}
	if mayBeLonger(text, agents) {
		in, err := c.Store.Participants(ctx, conv.ID)
		if err != nil {
			return nil, err
		}
		known.People = slices.DeleteFunc(in, func(n string) bool { return slices.Contains(agents, fika.AgentName(n)) })
	}
	found := c.Parser.Parse(text, known)
	pool := fika.AgentName("")
	if c.PoolOf != nil {
		pool = c.PoolOf(self)
	}
	return slices.DeleteFunc(found.Agents, func(n fika.AgentName) bool { return n == self || n == pool }), nil
}

// mayBeLonger reports whether an agent's name in a text may be only the beginning of
// somebody else's; only then is the list of participants read.
func mayBeLonger(text string, agents []fika.AgentName) bool {
	text = strings.ToLower(text)
	for _, name := range agents {
		if at := "@" + string(name); strings.Contains(text, at+"-") || strings.Contains(text, at+"_") || strings.Contains(text, at+`\`) {
			return true
		}
	}
	return false
}

// addNamed adds to also the agents among the participants.
func addNamed(in []string, agents []fika.Agent, also []fika.AgentName) []fika.AgentName {
	for _, a := range agents {
		if slices.Contains(in, string(a.Name)) && !slices.Contains(also, a.Name) {
			also = append(also, a.Name)
		}
	}
	return also
}

func agentNames(agents []fika.Agent) []fika.AgentName {
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

func (c *Chats) teamOf(agents []fika.Agent) []colleague.Colleague {
	if len(c.Team) > 0 {
		return c.Team
	}
	return colleague.OfRows(agents)
}

func unknownNames(list []mention.Unknown, team []colleague.Colleague) error {
	var parts []string
	for _, u := range list {
		part := fmt.Sprintf("agent %q not found", u.Name)
		if len(u.Near) > 0 {
			part += fmt.Sprintf("; did you mean %q?", u.Near[0])
		}
		parts = append(parts, part)
	}
	return fika.Errorf(fika.NotFound, "send", "%s%s. To write it as plain text, put the name in `backquotes`", strings.Join(parts, ", "), colleague.KnownNames(team))
}

// NearestAgent returns the name of the agent that is spelled most like word, or "".
func NearestAgent(word string, agents []fika.Agent) fika.AgentName {
	found := mention.Parse("@"+word, mention.Known{Agents: agentNames(agents)})
	if len(found.Unknown) == 0 || len(found.Unknown[0].Near) == 0 {
		return ""
	}
	return found.Unknown[0].Near[0]
}
