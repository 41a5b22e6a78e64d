package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
)

// EventKind is what an event is about. The list is closed.
type EventKind string

// The kinds of events, and what Seq and State of each are.
const (
	EntryEvent        EventKind = "entry"        // appended; its seq and its type
	RequestEvent      EventKind = "request"      // accepted, started, waiting, asked to stop, ended; its state
	StepEvent         EventKind = "step"         // its number and its state; a turn's last model call has none, because the end of the request says the same
	ApprovalEvent     EventKind = "approval"     // its number and its state
	PauseEvent        EventKind = "pause"        // paused or resumed; without a conversation, all of them
	AgentEvent        EventKind = "agent"        // desired state, lease, name or pool; its state, or deleted
	ConversationEvent EventKind = "conversation" // its status, or deleted
	RunEvent          EventKind = "run"          // a run of a workflow: the state of its request, or paused
	AccessEvent       EventKind = "access"       // somebody joined: who may see the conversation has changed
	TaskEvent         EventKind = "task"         // of the board; its number and its state
	InputEvent        EventKind = "input"        // a text for a turn under way: the seq of the entry that it became, and its state
	OfferEvent        EventKind = "offer"        // to land work on a branch: its number and its state
	JobEvent          EventKind = "job"          // a background command: its number and its state
)

// What State says beside the states of the rows themselves.
const (
	Deleted = "deleted"
	Paused  = "paused"
	Resumed = "resumed"
	Joined  = "joined"
)

// EventKinds lists all kinds.
func EventKinds() []EventKind {
	return []EventKind{EntryEvent, RequestEvent, StepEvent, ApprovalEvent, PauseEvent, AgentEvent, ConversationEvent, RunEvent, AccessEvent, InputEvent, TaskEvent, JobEvent, OfferEvent}
}

// Event is a committed fact. It holds ids, codes and counts, never text; what it does
// not concern is empty. Applying one twice changes nothing: the state is that of the row
// after the commit.
type Event struct {
	N            int64 // its number; numbers may be missing
	At           time.Time
	Kind         EventKind
	Conversation fika.ConversationID
	Request      fika.RequestID
	Chain        fika.RequestID
	Agent        fika.AgentID
	Seq          int64
	State        string
	Data         json.RawMessage // an [EventData]; nil if that is empty
	// Entry is what an event of kind entry is about, if the reader asked for text; nil if
	// the entry was removed since. Its content is cut after 64 KiB; Cut is how many bytes
	// are left out. Metadata of more than that are left out.
	Entry *fika.Entry
	Cut   int
}

// EventData is what an event says beside its columns, as JSON of at most 1 KiB.
type EventData struct {
	ID      fika.EntryID     `json:"id,omitempty"`      // of an entry or an input; a foreign one that is long is left out
	Kind    string           `json:"kind,omitempty"`    // of a request, step or conversation
	Notify  []fika.AgentName `json:"notify,omitempty"`  // whom an entry was brought to the notice of
	More    int              `json:"more,omitempty"`    // how many of those are left out
	Final   bool             `json:"final,omitempty"`   // the entry is the answer of its request
	CallID  string           `json:"call_id,omitempty"` // of a tool call, ours: see [CallID]
	Tool    string           `json:"tool,omitempty"`
	Round   int              `json:"round,omitempty"` // of a step, and of an entry that a model call has made
	OK      *bool            `json:"ok,omitempty"`    // of a result
	MS      int64            `json:"ms,omitempty"`    // how long a step or a request took
	Usage   *fika.Usage      `json:"usage,omitempty"`
	Model   string           `json:"model,omitempty"`
	Wait    fika.WaitReason  `json:"wait,omitempty"`   // of a waiting request
	Error   fika.Kind        `json:"error,omitempty"`  // of a request that has failed
	Cancel  bool             `json:"cancel,omitempty"` // a request, or a job, was asked to end
	Parent  fika.RequestID   `json:"parent,omitempty"` // of a request
	RetryOf fika.RequestID   `json:"retry_of,omitempty"`
	Epoch   fika.Epoch       `json:"epoch,omitempty"`   // of a running request or a lease: older live text is void
	Answer  int64            `json:"answer,omitempty"`  // seq of the final entry of a request
	Step    int              `json:"step,omitempty"`    // that an approval is about
	Desired fika.Desired     `json:"desired,omitempty"` // of an agent
	Run     fika.RequestID   `json:"run,omitempty"`     // the id that people use for a run
	Person  string           `json:"person,omitempty"`  // who joined, if not an agent, or has set the mode
	Mode    fika.Mode        `json:"mode,omitempty"`    // of a conversation, newly set
	Removed int64            `json:"removed,omitempty"` // entries of a conversation that have expired
}

const (
	// maxEventData bounds the data of an event, in bytes.
	maxEventData = 1 << 10
	// maxEventID bounds the foreign ids in it.
	maxEventID = 128
	// maxNotify bounds the names in it.
	maxNotify = 8
	// eventRows is how many events one statement inserts at most.
	eventRows = 32
)

// CallID returns the id of a tool call outside the database: ours, not the provider's,
// which may come twice.
func CallID(request fika.RequestID, n int) string { return fmt.Sprintf("%s/%d", request, n) }

// event is a fact that the transaction commits as its last statement. The functions that
// write a row tell it.
type event struct {
	kind         EventKind
	conversation fika.ConversationID
	request      fika.RequestID
	chain        fika.RequestID
	agent        fika.AgentID
	seq          int64
	state        string
	data         EventData
}

// tell adds an event, and returns it so that more can be said before the commit. Events
// belong to one try of a transaction and are discarded with it.
func (t *tx) tell(e event) *event {
	t.events = append(t.events, &e)
	return &e
}

// told returns the event of an entry that this transaction has appended.
func (t *tx) told(e fika.Entry) *event {
	for i := len(t.events) - 1; i >= 0; i-- {
		if v := t.events[i]; v.kind == EntryEvent && v.conversation == e.Conversation && v.seq == e.Seq {
			return v
		}
	}
	return &event{} // nothing is said about it
}

// tellTurn adds an event about the request of a turn.
func (t *tx) tellTurn(r turn, state fika.RequestState, d EventData) {
	d.Kind, d.Parent = string(r.kind), r.parent
	t.tell(event{kind: RequestEvent, conversation: r.conv.ID, request: r.id, chain: r.chain, agent: r.agent, state: string(state), data: d})
}

// tellRequest adds an event about a request as it now stands.
func (t *tx) tellRequest(r fika.Request, d EventData) {
	d.Kind, d.Parent, d.RetryOf = string(r.Kind), r.Parent, r.RetryOf
	t.workers[r.ID] = r.Agent
	t.tell(event{kind: RequestEvent, conversation: r.Conversation, request: r.ID, chain: r.Chain, agent: r.Agent, state: string(r.State), data: d})
}

// tellStep adds an event about a step of a turn.
func (t *tx) tellStep(r turn, n int, state fika.StepState, d EventData) {
	t.tell(event{kind: StepEvent, conversation: r.conv.ID, request: r.id, chain: r.chain, agent: r.agent, seq: int64(n), state: string(state), data: d})
}

// tellRun adds an event about a run.
func (t *tx) tellRun(r Run, state string, d EventData) {
	d.Run = r.ID
	t.tell(event{kind: RunEvent, conversation: r.Conversation, request: r.Request, chain: r.Request, agent: flowAgent, state: state, data: d})
}

// tellApproval adds an event about a question that a run asks.
func (t *tx) tellApproval(r Run, n int64, state ApprovalState) {
	t.tell(event{kind: ApprovalEvent, conversation: r.Conversation, request: r.Request, chain: r.Request, agent: flowAgent, seq: n, state: string(state), data: EventData{Run: r.ID}})
}

// json returns the data as stored: empty, or at most maxEventData bytes.
func (d EventData) json() (string, error) {
	if len(d.ID) > maxEventID {
		d.ID = ""
	}
	if strings.ContainsFunc(d.Tool, func(r rune) bool { return r <= ' ' || r > '~' }) {
		d.Tool = "" // a model can call anything a tool
	}
	if n := len(d.Notify); n > maxNotify {
		d.Notify, d.More = d.Notify[:maxNotify], n-maxNotify
	}
	raw, err := json.Marshal(d)
	if err == nil && len(raw) > maxEventData {
		// Only names that others have chosen are as long as that.
		d.Tool, d.Model, d.Person, d.More, d.Notify = "", "", "", d.More+len(d.Notify), nil
		raw, err = json.Marshal(d)
	}
	if err != nil || len(raw) > maxEventData || string(raw) == "{}" {
		return "", err
	}
	return string(raw), nil
}

const insertEvents = `INSERT INTO events (at, kind, conversation, request, chain, agent, seq, state, data) `

// eventStatements returns what inserts the events: the last statements before the commit
// and in its round trip, so that transactions that wait for each other's rows are
// numbered in the order of their commits. That somebody joined is true only if the row
// of the participant is new, which the database knows.
func (t *tx) eventStatements() ([]statement, error) {
	const (
		row    = `SELECT CAST(? AS BIGINT), ?, ?, ?, ?, ?, CAST(? AS BIGINT), ?, ?`
		joined = ` WHERE EXISTS (SELECT 1 FROM participants p WHERE p.conversation = ? AND p.agent = ? AND p.person = ? AND p.joined_at = ?)`
	)
	if len(t.events) > 0 && t.op.durability != durable {
		return nil, fika.Errorf(fika.Failed, t.op.name, "what a power failure may undo is no event")
	}
	// With those that have a condition at the end, there are few texts to prepare.
	slices.SortStableFunc(t.events, func(a, b *event) int {
		return int(number(a.kind == AccessEvent) - number(b.kind == AccessEvent))
	})
	var out []statement
	for list := range slices.Chunk(t.events, eventRows) {
		var rows []string
		var args []any
		for _, e := range list {
			data, err := e.data.json()
			if err != nil {
				return nil, fika.Wrap(fika.Invalid, t.op.name, err)
			}
			text := row
			args = append(args, t.now, e.kind, e.conversation, e.request, e.chain, e.agent, e.seq, e.state, data)
			if e.kind == AccessEvent {
				text += joined
				args = append(args, e.conversation, e.agent, e.data.Person, t.now)
			}
			rows = append(rows, text)
		}
		out = append(out, statement{text: insertEvents + strings.Join(rows, ` UNION ALL `), args: args})
	}
	return out, nil
}

func scanEvent(s scanner) (e Event, err error) {
	var when int64
	var data string
	err = s.Scan(&e.N, &when, &e.Kind, &e.Conversation, &e.Request, &e.Chain, &e.Agent, &e.Seq, &e.State, &data)
	e.At = at(when)
	if data != "" {
		e.Data = json.RawMessage(data)
	}
	return e, err
}

// tellAgents runs a statement that changes agents and returns id, state and desired state
// of each, and adds an event about each. It returns how many there were.
func (t *tx) tellAgents(ctx context.Context, text string, args ...any) (int, error) {
	type changed struct {
		id      fika.AgentID
		state   string
		desired fika.Desired
	}
	list, err := many(ctx, t, func(s scanner) (c changed, err error) { return c, s.Scan(&c.id, &c.state, &c.desired) },
		text+` RETURNING id, state, desired`, args...)
	for _, c := range list {
		t.tell(event{kind: AgentEvent, agent: c.id, state: c.state, data: EventData{Desired: c.desired}})
	}
	return len(list), err
}

// tellConversations runs a statement that changes conversations and returns id, status
// and owner of each, and adds an event about each: state instead of the status, if it is
// not empty. It returns how many there were.
func (t *tx) tellConversations(ctx context.Context, state, text string, args ...any) (int, error) {
	type changed struct {
		id     fika.ConversationID
		status string
		agent  fika.AgentID
	}
	list, err := many(ctx, t, func(s scanner) (c changed, err error) { return c, s.Scan(&c.id, &c.status, &c.agent) },
		text+` RETURNING id, status, agent`, args...)
	for _, c := range list {
		t.tell(event{kind: ConversationEvent, conversation: c.id, agent: c.agent, state: cmp.Or(state, c.status)})
	}
	return len(list), err
}
