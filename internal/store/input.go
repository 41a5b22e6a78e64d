package store

import (
	"context"
	"encoding/json"
	"time"

	"fika"
)

// InputState is where a text stands that a person gave while an agent was at work.
type InputState string

// The states of an input; all but the first are final.
const (
	InputQueued    InputState = "queued"    // it waits for the turn under way
	InputTaken     InputState = "taken"     // the turn has it
	InputWithdrawn InputState = "withdrawn" // its writer has taken it back: nobody has it
	InputPosted    InputState = "posted"    // the turn ended first: it became a message like any other
)

// Input is a text for the turn that an agent has under way in a chat. When that next asks
// its model, the text becomes an entry of the turn; if it ends before that, a message that
// the agent is notified of. Either has the input's id.
type Input struct {
	ID           fika.EntryID
	Conversation fika.ConversationID
	In           fika.ConversationName
	Agent        fika.AgentID
	AgentName    fika.AgentName
	From         string // the person
	WriterName   string
	Content      string
	Attachments  []fika.Attachment
	TTL          time.Duration
	State        InputState
	Seq          int64 // of the entry that it became; 0: none
	Created      time.Time
}

const selectInput = `SELECT i.id, i.conversation, i.agent, a.name, i.sender, i.writer, i.content, i.attachments, i.ttl, i.state, i.seq, i.created_at, c.name
FROM inputs i JOIN agents a ON a.id = i.agent JOIN conversations c ON c.id = i.conversation`

func scanInput(s scanner) (in Input, err error) {
	var attachments string
	var ttl, created int64
	err = s.Scan(&in.ID, &in.Conversation, &in.Agent, &in.AgentName, &in.From, &in.WriterName, &in.Content, &attachments, &ttl, &in.State, &in.Seq, &created, &in.In)
	in.TTL, in.Created = time.Duration(ttl)*time.Millisecond, at(created)
	if err == nil && attachments != "" {
		err = json.Unmarshal([]byte(attachments), &in.Attachments)
	}
	return in, err
}

// QueuedInputs returns the texts that wait for turns, of one conversation or, if that is
// empty, of all, oldest first.
func (s Transcripts) QueuedInputs(ctx context.Context, c fika.ConversationID) ([]Input, error) {
	where, args := ` WHERE i.state = 'queued'`, []any{}
	if c != "" {
		where, args = where+` AND i.conversation = ?`, append(args, c)
	}
	all, err := many(ctx, s.r, scanInput, selectInput+where+` ORDER BY i.n`, args...)
	return all, s.explain("read inputs", err)
}

// Input returns one input. It fails with NotFound.
func (s Transcripts) Input(ctx context.Context, id fika.EntryID) (Input, error) {
	const op = "read input"
	in, ok, err := one(ctx, s.r, scanInput, selectInput+` WHERE i.id = ?`, id)
	if err == nil && !ok {
		err = fika.Errorf(fika.NotFound, op, "no input %q", id)
	}
	return in, s.explain(op, err)
}

// WithdrawInput takes a text back that still waits, and returns it as it then stands: if it
// was delivered before, it stays so. It fails with NotFound.
func (s Transcripts) WithdrawInput(ctx context.Context, id fika.EntryID) (Input, error) {
	const op = "withdraw input"
	var out Input
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, `UPDATE inputs SET state = 'withdrawn' WHERE id = ? AND state = 'queued'`, id)
		if err != nil {
			return err
		}
		in, ok, err := one(ctx, t, scanInput, selectInput+` WHERE i.id = ?`, id)
		switch {
		case err != nil:
			return err
		case !ok:
			return fika.Errorf(fika.NotFound, op, "no input %q", id)
		}
		out, t.discard = in, n == 0
		if n > 0 {
			inputsIn(t).tell(in, "")
		}
		return nil
	})
	return out, err
}

// TakeInputs makes the texts that wait for a turn entries of it, and returns them in their
// order. It fails with Conflict while a tool call of the turn has no result: they would
// stand between the two.
func (s Turns) TakeInputs(ctx context.Context, f Fence) ([]fika.Entry, error) {
	const op = "take inputs"
	var out []fika.Entry
	var waiting []Input
	var open []fika.Step
	ask := []question{
		{ask: func() statement { return queuedFor(&waiting, f.Request) }},
		{ask: func() statement { return openSteps(&open, f.Request) }},
	}
	err := s.withinLease(ctx, op, f, stepStays, func(ctx context.Context, t *tx, r turn) error {
		out = nil
		switch {
		case len(waiting) == 0:
			t.discard = true
			return nil
		case len(open) > 0:
			return fika.Errorf(fika.Conflict, op, "request %s has a tool call without a result", r.id)
		}
		for _, in := range waiting {
			e := in.entry()
			e.Request, e.Chain, e.Depth = r.id, r.chain, r.depth
			if err := t.append(ctx, &e); err != nil {
				return err
			}
			if err := inputsIn(t).settle(ctx, in, InputTaken, e, r.id); err != nil {
				return err
			}
			out = append(out, e)
		}
		return nil
	}, ask...)
	return out, err
}

// entry returns the entry that an input becomes, not yet stored. Its recipient is the
// agent, so that the entry is known to belong to a turn of that one.
func (in Input) entry() fika.Entry {
	return fika.Entry{
		Conversation: in.Conversation, ID: in.ID, From: in.From, To: string(in.AgentName), Content: in.Content, Type: fika.Message,
		Meta: fika.EntryMeta{Writer: fika.ByHuman, WriterName: in.WriterName, Attachments: in.Attachments},
	}
}

// underWay selects the turn that an agent, or a member of a pool, has under way in a
// conversation; its arguments are the conversation and twice the name.
const underWay = `SELECT r.id, a.id, a.name FROM requests r JOIN agents a ON a.id = r.agent
WHERE r.conversation = ? AND r.finished_at = 0 AND r.upto_seq > 0 AND r.kind = 'notify'
AND (a.name = ? OR (a.pool <> '' AND a.pool = (SELECT p.id FROM agents p WHERE p.name = ?))) ORDER BY r.n DESC LIMIT 1`

// worker is an agent with a turn under way.
type worker struct {
	request fika.RequestID
	agent   fika.AgentID
	name    fika.AgentName
}

func scanWorker(s scanner) (w worker, err error) { return w, s.Scan(&w.request, &w.agent, &w.name) }

// queuedFor returns the statement that reads what waits for a turn.
func queuedFor(into *[]Input, turn fika.RequestID) statement {
	*into = nil
	return all(into, scanInput, selectInput+` JOIN requests r ON r.conversation = i.conversation AND r.agent = i.agent
WHERE r.id = ? AND i.state = 'queued' ORDER BY i.n`, turn)
}

// inputRows writes inputs.
type inputRows struct{ *tx }

func inputsIn(t *tx) inputRows { return inputRows{t} }

// queue stores a message as an input for a turn under way, and makes its writer a
// participant.
func (t inputRows) queue(ctx context.Context, c fika.Conversation, p Post, f posting) (Posted, error) {
	in := Input{
		ID: p.ID, Conversation: c.ID, In: c.Name, Agent: f.at.agent, AgentName: f.at.name, From: p.From, WriterName: p.WriterName,
		Content: p.Content, Attachments: p.Attachments, TTL: p.TTL, State: InputQueued, Created: at(t.now),
	}
	if in.ID == "" {
		in.ID = fika.EntryID(t.newID())
	}
	attachments := ""
	if len(in.Attachments) > 0 {
		var err error
		if attachments, err = toJSON("queue input", in.Attachments); err != nil {
			return Posted{}, err
		}
	}
	err := t.put(ctx, `INSERT INTO inputs (id, conversation, agent, sender, writer, content, attachments, ttl, state, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, in.ID, in.Conversation, in.Agent, in.From, in.WriterName, in.Content, attachments, in.TTL.Milliseconds(), in.State, t.now)
	if err == nil {
		err = postsIn(t.tx).joinWriter(ctx, in.Conversation, p, f)
	}
	t.tell(in, f.at.request)
	return Posted{Input: &in, Paused: c.Paused || f.paused == "1"}, err
}

// settle records what became of an input that waited.
func (t inputRows) settle(ctx context.Context, in Input, state InputState, e fika.Entry, request fika.RequestID) error {
	in.State, in.Seq = state, e.Seq
	t.tell(in, request)
	return t.put(ctx, `UPDATE inputs SET state = ?, seq = ? WHERE id = ? AND state = 'queued'`, state, e.Seq, in.ID)
}

// tell adds an event about an input; request is the turn that it is or was for, if known.
func (t inputRows) tell(in Input, request fika.RequestID) {
	t.tx.tell(event{
		kind: InputEvent, conversation: in.Conversation, request: request, agent: in.Agent, seq: in.Seq, state: string(in.State), data: EventData{ID: in.ID},
	})
}

// post turns what still waits for a turn that ends into messages that its agent is notified
// of.
func (t inputRows) post(ctx context.Context, r turn) (entries []fika.Entry, err error) {
	for _, in := range r.found.inputs {
		p := Post{
			Conversation: in.Conversation, From: in.From, Writer: fika.ByHuman, WriterName: in.WriterName, Content: in.Content,
			Notify: []fika.AgentName{in.AgentName}, TTL: in.TTL, Attachments: in.Attachments,
		}
		var f posting
		if err := t.run(ctx, f.asking(p)...); err != nil {
			return entries, err
		}
		p.ID = in.ID // no entry has it
		posted, err := postsIn(t.tx).post(ctx, r.conv, p, f, time.Time{})
		if err != nil {
			return entries, err
		}
		if err := t.settle(ctx, in, InputPosted, posted.Entry, r.id); err != nil {
			return entries, err
		}
		entries = append(entries, posted.Entry)
	}
	return entries, nil
}

// withdrawAll takes back everything that waits in a conversation, and returns how much that
// was.
func (t inputRows) withdrawAll(ctx context.Context, c fika.ConversationID) (int, error) {
	list, err := many(ctx, t, scanInput, selectInput+` WHERE i.conversation = ? AND i.state = 'queued' ORDER BY i.n`, c)
	for _, in := range list {
		in.State = InputWithdrawn
		t.tell(in, "")
		if err := t.put(ctx, `UPDATE inputs SET state = 'withdrawn' WHERE id = ?`, in.ID); err != nil {
			return 0, err
		}
	}
	return len(list), err
}
