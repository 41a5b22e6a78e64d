package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"fika"
	"fika/internal/system/crash"
)

// NewRequest describes the work that [Queue.Accept] is asked for. If ID is empty, the
// store makes one.
type NewRequest struct {
	ID           fika.RequestID
	Kind         fika.RequestKind // RunRequest, AskRequest or TaskRequest
	Origin       fika.Origin
	Agent        fika.AgentID
	Conversation fika.ConversationName // of an ask: empty means the active one; an unknown name makes one
	RetryOf      fika.RequestID
	Parent       fika.RequestID
	Task         fika.TaskNumber // of the board, that it works; 0: none
	Chain        fika.RequestID  // empty: the request is a root
	Depth        int
	Deadline     time.Time // zero: none
	Payload      fika.Payload
	// Rights bounds what the request may do: the rights of whoever causes it.
	Rights    *fika.Rights
	Taint     string       // the outside source of its prompt; empty: none
	addressed fika.AgentID // the pool that was asked, if Agent is a member of it
	// Limits bounds what [Queue.Begin] begins. Accept ignores it.
	Limits Limits
}

// Accepted reports what [Queue.Accept] stored. Repeat means that the id was known
// with the same agent and body; Request is then the stored one, whatever its state.
type Accepted struct {
	Request      fika.Request
	Conversation fika.Conversation
	Repeat       bool
}

// Accept commits a request and its conversation. It fails with Conflict if the id is
// known with another agent or body, or the named conversation is another agent's.
func (s Queue) Accept(ctx context.Context, n NewRequest) (Accepted, error) {
	var out Accepted
	err := s.write(ctx, opAccept, func(ctx context.Context, t *tx) (err error) {
		out, err = requestsIn(t).accept(ctx, n)
		return err
	})
	return out, err
}

const opAccept = "accept request"

// requestRows writes the rows that make up a new request.
type requestRows struct{ *tx }

func requestsIn(t *tx) requestRows { return requestRows{t} }

func (t requestRows) accept(ctx context.Context, n NewRequest) (Accepted, error) {
	var out Accepted
	if n.Kind != fika.RunRequest && n.Kind != fika.AskRequest && n.Kind != fika.TaskRequest {
		return out, fika.Errorf(fika.Invalid, opAccept, "%q is not a kind of request that can be asked for", n.Kind)
	}
	hash, err := bodyHash(n)
	if err != nil {
		return out, err
	}
	if n.ID != "" {
		known, ok, err := one(ctx, t, scanRequest, `SELECT `+requestColumns+` FROM requests r WHERE r.id = ?`, n.ID)
		switch {
		case ok && crash.Without(crash.Dedup):
			n.ID = fika.RequestID(t.newID())
		case err != nil:
			return out, err
		case ok:
			return t.repeated(ctx, known, n, hash)
		}
	} else {
		n.ID = fika.RequestID(t.newID())
	}
	a, err := agentByID(ctx, t, n.Agent)
	if err != nil {
		return out, err
	}
	if a.IsPool() && n.Kind == fika.AskRequest {
		pool := a.ID
		if a, err = poolsIn(t.tx).memberFor(ctx, n, a); err != nil {
			return out, err
		}
		n.addressed, n.Agent = pool, a.ID
	}
	c, fresh, err := t.conversationFor(ctx, n, a)
	if err != nil {
		return out, err
	}
	if fresh {
		if err := t.seed(ctx, c, a, n); err != nil {
			return out, err
		}
	}
	out.Conversation = c
	out.Request, err = t.insertRequest(ctx, n, c.ID, hash)
	return out, err
}

// repeated answers a request whose id is already known.
func (t requestRows) repeated(ctx context.Context, known fika.Request, n NewRequest, hash string) (Accepted, error) {
	if known.Asked() != n.Agent || known.BodyHash != hash {
		return Accepted{}, fika.Errorf(fika.Conflict, opAccept, "request %s is known with another agent or another body", n.ID)
	}
	t.discard = true
	c, err := conversationByID(ctx, t, known.Conversation)
	return Accepted{Request: known, Conversation: c, Repeat: true}, err
}

// bodyHash returns a digest that is equal for two requests with the same id if they
// ask for the same thing. Deadlines are left out because they are computed from the
// time of arrival.
func bodyHash(n NewRequest) (string, error) {
	p := n.Payload
	p.Deadline, p.Trace = 0, ""
	raw, err := json.Marshal(struct {
		Kind         fika.RequestKind
		Conversation fika.ConversationName
		RetryOf      fika.RequestID
		Parent       fika.RequestID
		Payload      fika.Payload
	}{n.Kind, n.Conversation, n.RetryOf, n.Parent, p})
	if err != nil {
		return "", fika.Wrap(fika.Invalid, opAccept, err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// conversationFor finds or creates the conversation in which a request will be
// worked.
func (t requestRows) conversationFor(ctx context.Context, n NewRequest, a fika.Agent) (c fika.Conversation, fresh bool, err error) {
	kind := fika.Ask
	if n.Kind == fika.TaskRequest {
		kind = fika.Task
	}
	if n.Conversation == "" {
		if kind == fika.Task {
			c, err = conversationsIn(t.tx).newConversation(ctx, conversationsIn(t.tx).generatedName(fika.Task, a.Name), fika.Task, a.ID)
			return c, true, err
		}
		c, err = agentsIn(t.tx).activeAsk(ctx, a.ID)
		if err != nil || c.LastSeq > 0 || len(n.Payload.History) == 0 {
			return c, false, err
		}
		c, err = conversationsIn(t.tx).lock(ctx, c.ID)
		return c, c.LastSeq == 0, err
	}
	c, ok, err := one(ctx, t, scanConversation, selectConversation+` WHERE c.name = ?`, n.Conversation)
	switch {
	case err != nil:
		return c, false, err
	case !ok:
		c, err = conversationsIn(t.tx).newConversation(ctx, n.Conversation, kind, a.ID)
		return c, true, err
	case c.Agent != a.ID:
		return c, false, fika.Errorf(fika.Conflict, opAccept, "the conversation %q is not one of %s's own", c.Name, a.Name)
	}
	return c, false, nil
}

// seed appends the history that came with a request to its new conversation.
func (t requestRows) seed(ctx context.Context, c fika.Conversation, a fika.Agent, n NewRequest) error {
	for _, h := range n.Payload.History {
		e := fika.Entry{Conversation: c.ID, Content: h.Content, Type: fika.Message, Meta: fika.EntryMeta{Taint: fika.Taint{From: n.Taint}}}
		switch h.Role {
		case "assistant":
			e.From, e.To = string(a.Name), "user"
			e.Meta.Writer, e.Meta.WriterName = fika.ByAgent, string(a.Name)
		case "system":
			e.From, e.To, e.Meta.Writer = "system", string(a.Name), fika.BySystem
		default:
			e.From, e.To, e.Meta.Writer = "user", string(a.Name), fika.ByHuman
		}
		if err := t.append(ctx, &e); err != nil {
			return err
		}
	}
	return nil
}

// insertRequest stores an open request, and its chain if the request is a root.
func (t requestRows) insertRequest(ctx context.Context, n NewRequest, c fika.ConversationID, hash string) (fika.Request, error) {
	chain, depth, err := chainsIn(t.tx).chainFor(ctx, c, n.Chain, n.Depth, n.ID, personOf(n.Payload.From, n.Payload.Writer), true)
	if err != nil {
		return fika.Request{}, err
	}
	if n.Origin == "" {
		n.Origin = fika.Queued
	}
	if n.Deadline.IsZero() {
		n.Deadline = at(n.Payload.Deadline)
	}
	r := fika.Request{
		ID: n.ID, Kind: n.Kind, Origin: n.Origin, Agent: n.Agent, Addressed: n.addressed, Conversation: c, Parent: n.Parent, RetryOf: n.RetryOf, Task: n.Task,
		Chain: chain, Depth: depth, State: fika.Open, Deadline: at(ms(n.Deadline)), Payload: n.Payload, BodyHash: hash,
		Rights: n.Rights, Taint: n.Taint, Touched: at(t.now), CreatedAt: at(t.now),
	}
	rights, err := rightsJSON(opAccept, n.Rights)
	if err != nil {
		return r, err
	}
	payload, err := toJSON(opAccept, n.Payload)
	if err != nil {
		return r, err
	}
	t.tellRequest(r, EventData{})
	err = t.put(ctx, `INSERT INTO requests (id, kind, origin, agent, conversation, parent, retry_of, chain, depth, asker,
state, deadline, payload, body_hash, rights, taint, touched, created_at, addressed, task) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.ID, r.Kind, r.Origin, r.Agent, r.Conversation, r.Parent, r.RetryOf, r.Chain, r.Depth, n.Payload.From,
		r.State, ms(r.Deadline), payload, hash, rights, r.Taint, t.now, t.now, r.Addressed, r.Task)
	return r, err
}
