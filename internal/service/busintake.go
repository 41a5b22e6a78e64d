package service

import (
	"cmp"
	"context"
	"slices"

	"fika"
	"fika/internal/api"
	"fika/internal/bus/message"
	"fika/internal/hub"
	"fika/internal/rights/guard"
	"fika/internal/settings/config"
	"fika/internal/store"
	"fika/internal/text/words"
)

// BusIntake decides about what programs that are not fika send over the bus: who asks,
// whom that one may ask, with which rights, in which conversation, and how much of it at
// a time. It writes the rows and wakes the agents. The hub receives the messages and
// answers them. Take is for one goroutine; the other methods may be called at once.
type BusIntake struct {
	c    *Service
	own  bool // the hub runs the server, and so knows who publishes
	load memberLoad
}

var _ hub.Intake = (*BusIntake)(nil)

// BusIntake returns what decides about messages from the bus. own says that the hub runs
// the server of the bus itself. On any other server nobody can tell who publishes.
func (c *Service) BusIntake(own bool) *BusIntake {
	return &BusIntake{c: c, own: own, load: newMemberLoad(c.store, c.app.Log(), c.now)}
}

// Take commits a request of another program, as [hub.Intake] describes.
func (b *BusIntake) Take(ctx context.Context, in hub.Incoming) (hub.Taken, error) {
	who, err := b.principal(ctx, in)
	if err != nil {
		return hub.Taken{}, err
	}
	if in.Member != "" {
		in.Request.Metadata.Sender = in.Member // whatever the message says
	}
	if err := b.load.admit(ctx, in.Member, fika.RequestID(in.Request.RequestID), in.Bytes); err != nil {
		return hub.Taken{}, err
	}
	accept := b.acceptRequest
	if in.Agent == message.TeamAgent {
		accept = b.beginTeam
	}
	taken, err := accept(ctx, who, in)
	if err == nil {
		b.load.admitted(in.Member, taken.Request.ID, in.Bytes)
	}
	return taken, err
}

// principal returns who sends a message. It returns Denied for a sender that calls itself
// by the name of an agent or of a member: a member is known by its connection.
func (b *BusIntake) principal(ctx context.Context, in hub.Incoming) (api.Principal, error) {
	p := api.Principal{Kind: api.Program, Name: cmp.Or(in.Member, in.Request.Metadata.Sender, "program"), Door: api.DoorBus, Agents: []string{"*"}, Most: api.Speaks}
	conf, err := b.c.app.Config()
	if err != nil {
		return p, err
	}
	if in.Member != "" {
		m := conf.BusMember(in.Member)
		if m == nil {
			return p, fika.Errorf(fika.Denied, "", "%q is not a member of this bus any more ([[bus_members]])", in.Member)
		}
		if m.Agents != nil {
			p.Agents = m.Agents
		}
		return p, nil
	}
	if m := conf.BusMember(in.Request.Metadata.Sender); m != nil {
		return p, fika.Errorf(fika.Denied, "metadata.sender", "%q is the name of a member of this bus, and only that one goes by it", m.Name)
	}
	switch err := b.c.app.MayBeCalled(ctx, in.Request.Metadata.Sender); {
	case fika.IsKind(err, fika.Denied):
		return p, fika.Wrap(fika.Denied, "metadata.sender", err)
	case err != nil && !fika.IsKind(err, fika.Invalid): // a malformed name cannot be a speaker's
		return p, err
	}
	return p, nil
}

// rights returns the rights of what a program asks an agent. A program with the
// credential that fika made for the person's programs asks as the person; a member has
// what a person gave it; on an external server everybody has what a person gave to all.
// It returns Denied if the agent takes no work from people, or none from this program.
func (b *BusIntake) rights(ctx context.Context, who api.Principal, member string, to fika.AgentName) (*fika.Rights, error) {
	if err := b.c.app.MayCall(ctx, nil, to); err != nil {
		return nil, err
	}
	if !who.Reaches(string(to)) {
		return nil, fika.Errorf(fika.Denied, "", "%s may not ask @%s (agents in its [[bus_members]] entry)", member, to)
	}
	conf, err := b.c.app.Config()
	switch {
	case err != nil:
		return nil, err
	case !b.own:
		return rightsWith(conf.NATS.RequestTools, false), nil
	case member == "":
		return nil, nil
	}
	m := conf.BusMember(member)
	if m == nil { // it was removed just now
		return nil, fika.Errorf(fika.Denied, "", "%q is not a member of this bus any more ([[bus_members]])", member)
	}
	return rightsWith(m.Tools, m.Network == "on"), nil
}

// rightsWith returns the rights of a request under which an agent may use at most these
// tools; nil means all that the agent has.
func rightsWith(tools []string, network bool) *fika.Rights {
	if slices.Contains(tools, guard.Anyone) {
		return nil
	}
	return &fika.Rights{Tools: tools, Sandbox: "best", Network: network, Fixed: true}
}

// acceptRequest commits the row of a request. What a member asks is said in conversations
// of its own, where it reads nothing that a person has said and nothing that it says
// reaches a person's turns.
func (b *BusIntake) acceptRequest(ctx context.Context, who api.Principal, in hub.Incoming) (hub.Taken, error) {
	r := in.Request
	row, err := b.c.store.Agent(ctx, in.Agent)
	if fika.IsKind(err, fika.NotFound) {
		return hub.Taken{}, noAgent(in.Agent)
	}
	if err != nil {
		return hub.Taken{}, err
	}
	n := store.NewRequest{
		ID: fika.RequestID(r.RequestID), Kind: fika.AskRequest, Origin: fika.Queued, Agent: row.ID,
		Chain: fika.RequestID(r.ChainRoot), Depth: r.Depth, Taint: "bus",
		Payload: fika.Payload{Prompt: r.Prompt, Writer: fika.ByHuman, Sender: r.Metadata.Sender, History: r.Context},
	}
	if r.Type == message.TypeTask {
		n.Kind, n.Payload.History = fika.TaskRequest, nil
	} else if n.Conversation, err = b.conversation(ctx, in, row); err != nil {
		return hub.Taken{}, err
	}
	if err := b.c.As(who).mayAgent(ctx, "agent."+string(n.Kind), row.Name); err != nil {
		return hub.Taken{}, err
	}
	if n.Rights, err = b.rights(ctx, who, in.Member, row.Name); err != nil {
		return hub.Taken{}, err
	}
	if u, err := fika.ParseUsername(r.Metadata.Sender); err == nil {
		n.Payload.From = u
	}
	accepted, err := b.c.store.Accept(ctx, n)
	if err != nil {
		return hub.Taken{}, err
	}
	taken := hub.Taken{Request: accepted.Request, Conversation: accepted.Conversation, Ended: accepted.Repeat && accepted.Request.State.Terminal()}
	if !taken.Ended {
		b.c.waker.Wake(row.Name)
		why := b.c.Availability.NeverAnswers(ctx, row)
		taken.Waits, taken.Code = words.Say(why, b.c.now()), why.Code
	}
	return taken, nil
}

func noAgent(name fika.AgentName) error {
	return fika.Errorf(fika.NotFound, "", "agent %q not found", name)
}

// conversation returns the conversation that a program means: "" for the agent's ongoing
// one. For a member it is one of the member's own. For another program it is one of the
// agent's own ask conversations that has this name, else the one that belongs to this id
// and this agent, so that two agents may be asked under the same id. It returns Conflict
// if the name is that of a task, or of a conversation that belongs to another agent.
func (b *BusIntake) conversation(ctx context.Context, in hub.Incoming, row fika.Agent) (fika.ConversationName, error) {
	var name fika.ConversationName
	if id := in.Request.ConversationID; id != "" {
		var err error
		if name, err = fika.ParseConversationName(id); err != nil {
			return "", err
		}
	}
	switch {
	case in.Member != "":
		return message.MemberConversation(row.Name, in.Member, name), nil
	case name == "":
		return "", nil
	}
	scoped := message.ScopedConversation(row.Name, name)
	c, err := b.c.store.Conversation(ctx, name)
	switch {
	case fika.IsKind(err, fika.NotFound):
		return scoped, nil
	case err != nil:
		return "", err
	case c.Kind == fika.Task:
		return "", fika.Errorf(fika.Conflict, "conversationId", "%q is a task, which is one request and its answer: leave conversationId away to go on with what %s was asked last, or send a task_request", name, row.Name)
	case c.Kind == fika.Ask && c.Agent == row.ID:
		return name, nil
	case c.Kind == fika.Ask && message.ScopedConversation(b.agentName(ctx, c.Agent), name) == name:
		return "", fika.Errorf(fika.Conflict, "conversationId", "the conversation %q is not one of %s's own", name, row.Name)
	}
	return scoped, nil // a chat, or another agent's conversation of that name
}

// agentName returns the name of an agent by its id, or "" if the agent is gone.
func (b *BusIntake) agentName(ctx context.Context, id fika.AgentID) fika.AgentName {
	rows, err := b.c.store.ListAgents(ctx)
	if err != nil {
		return ""
	}
	i := slices.IndexFunc(rows, func(r fika.Agent) bool { return r.ID == id })
	if i < 0 {
		return ""
	}
	return rows[i].Name
}

// Members returns the names of the members of the bus now; none on a server that is not
// the hub's own.
func (b *BusIntake) Members() []string {
	if !b.own {
		return nil
	}
	return memberNames(b.c.config())
}

func memberNames(c *config.Config) (out []string) {
	for _, m := range c.BusMembers {
		out = append(out, m.Name)
	}
	return out
}

// Sender returns who has sent a request over the bus: for a member its name, which
// nobody else goes by.
func (b *BusIntake) Sender(ctx context.Context, id fika.RequestID) (string, error) {
	r, err := b.c.store.Request(ctx, id)
	if err == nil && store.StandsForRun(r.Request) {
		return r.Payload.From, nil
	}
	return r.Payload.Sender, err
}
