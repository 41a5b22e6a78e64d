package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"fika"
)

// Delegation is a task that a tool step gives to another agent, or a run of a workflow.
type Delegation struct {
	N        int // the planned step
	Agent    fika.AgentID
	Run      *NewRun // in place of an agent: what it says of the asker is replaced
	Prompt   string
	Deadline time.Duration // from now; must be set
	Rights   *fika.Rights  // what the task may do at most
	Taint    string        // the outside source that the delegating turn has read; empty: none
}

// Delegated reports what [Turns.Delegate] stored.
type Delegated struct {
	Signal   Signal
	Children []Child        // created, in the order of their steps; none: the request was not suspended
	Refused  map[int]string // the reason, by step
}

// Awaited reports what became of the children of a request.
type Awaited struct {
	Children []Child // in the order of their steps; deleted ones are missing
	Waiting  bool    // the request is suspended again
}

// Child is a request that a tool step of its parent created.
type Child struct {
	RequestInfo
	N int // the step
}

// ChildID returns the id of the task that a tool step gives to another agent. It is
// derived from the step, so that one step never has two children.
func ChildID(parent fika.RequestID, n int) fika.RequestID {
	return fika.RequestID(ownUUID(fmt.Sprintf("delegate\x00%s\x00%d", parent, n)))
}

// ownUUID returns a UUID derived from a text, in the version reserved for custom
// schemes.
func ownUUID(text string) string {
	sum := sha256.Sum256([]byte(text))
	b := sum[:16]
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// overdue is how long a child may take to stop after its deadline. Then the request
// that waits for it goes on.
const overdue = 5 * time.Second

// waitsFor selects the agents of a request and of all requests that wait for it,
// directly or not: it must not wait for any of them in turn.
const waitsFor = `WITH RECURSIVE up (agent, addressed, parent) AS (
SELECT agent, addressed, parent FROM requests WHERE id = ?
UNION ALL SELECT p.agent, p.addressed, p.parent FROM requests p JOIN up ON p.id = up.parent WHERE up.parent <> '')
SELECT agent FROM up UNION ALL SELECT addressed FROM up WHERE addressed <> ''`

// Delegate gives each of some planned tool steps a child task or a run, marks the steps
// started and suspends the request until all children have an outcome, in one
// transaction. A child's id is its [ChildID]; it belongs to its parent's chain, one
// deeper, and its deadline is no later than the parent's. If the signal is not empty,
// nothing is written. A step is refused if its agent is the request's own or one that
// waits for it, directly or not; it stays planned, and if all steps are refused, the
// request stays running.
func (s Turns) Delegate(ctx context.Context, f Fence, list []Delegation) (Delegated, error) {
	const op = "delegate"
	var out Delegated
	begin := func(ctx context.Context, t *tx, r turn) error {
		out = Delegated{Refused: map[int]string{}}
		if r.origin == fika.Foreground {
			return fika.Errorf(fika.Invalid, op, "request %s is worked in the foreground and cannot be suspended", r.id)
		}
		if out.Signal = r.signal(t.now); out.Signal != (Signal{}) {
			t.discard = true
			return nil
		}
		above, err := many(ctx, t, scanText, waitsFor, r.id)
		if err != nil {
			return err
		}
		until := int64(0)
		for _, d := range list {
			if i := slices.Index(above, string(d.Agent)); i >= 0 && d.Run == nil {
				out.Refused[d.N] = refusal(i)
				continue
			}
			store := childrenIn(t).child
			if d.Run != nil {
				store = childrenIn(t).childRun
			}
			k, err := store(ctx, op, r, d)
			if fika.IsKind(err, fika.Limit) {
				out.Refused[d.N] = "not run: " + err.Error()
				continue
			}
			if fika.IsKind(err, fika.NotFound) { // the agent was deleted a moment ago
				out.Refused[d.N] = "not delegated: " + err.Error()
				continue
			}
			if err != nil {
				return err
			}
			out.Children = append(out.Children, k)
			until = max(until, ms(k.Deadline))
		}
		if len(out.Children) == 0 {
			t.discard = true
			return nil
		}
		return childrenIn(t).suspend(ctx, r, fika.WaitChild, until+overdue.Milliseconds())
	}
	var err error
	if slices.ContainsFunc(list, func(d Delegation) bool { return d.Run != nil }) {
		err = s.withinLease(ctx, "run workflow", f, stepStays, begin)
	} else {
		err = s.withinLease(ctx, op, f, stepStays, begin)
	}
	return out, err
}

// refusal says why the i-th of the agents in [waitsFor] is not given a task.
func refusal(i int) string {
	if i == 0 {
		return "not delegated: that is you; do it yourself"
	}
	return "not delegated: that agent waits for your answer to this very task, so it cannot work on it; answer it instead"
}

// childRows writes requests that wait for others, and those that they wait for.
type childRows struct{ *tx }

func childrenIn(t *tx) childRows { return childRows{t} }

// child stores the task of one step and marks the step started.
func (t childRows) child(ctx context.Context, op string, r turn, d Delegation) (Child, error) {
	out := Child{N: d.N}
	st, err := t.step(ctx, op, r, d.N)
	if err != nil {
		return out, err
	}
	if st.State != fika.StepPlanned {
		return out, fika.Errorf(fika.Conflict, op, "step %s/%d is %s and not begun again", r.id, d.N, st.State)
	}
	if d.Deadline <= 0 {
		return out, fika.Errorf(fika.Invalid, op, "a delegated task needs a deadline")
	}
	acc, err := requestsIn(t.tx).accept(ctx, NewRequest{
		ID: ChildID(r.id, d.N), Kind: fika.TaskRequest, Origin: fika.Queued, Agent: d.Agent, Parent: r.id,
		Chain: r.chain, Depth: r.depth + 1, Deadline: at(t.deadlineOf(r, d.Deadline)),
		Payload: fika.Payload{Prompt: d.Prompt, From: string(r.agentName), Writer: fika.ByAgent}, Rights: d.Rights, Taint: d.Taint,
	})
	if err == nil && acc.Repeat {
		err = fika.Errorf(fika.Conflict, op, "request %s exists already", acc.Request.ID)
	}
	if err != nil {
		return out, err
	}
	a, err := agentByID(ctx, t, d.Agent)
	if err != nil {
		return out, err
	}
	if r.conv.Run != "" { // whatever holds the run holds this task, too
		if err := t.put(ctx, `UPDATE conversations SET run = ? WHERE id = ?`, r.conv.Run, acc.Conversation.ID); err != nil {
			return out, err
		}
	}
	out.RequestInfo = RequestInfo{Request: acc.Request, AgentName: a.Name, ConversationName: acc.Conversation.Name}
	return out, t.startStep(ctx, r, st, string(acc.Request.ID))
}

// suspend makes a request waiting and gives its attempt back.
func (t childRows) suspend(ctx context.Context, r turn, reason fika.WaitReason, until int64) error {
	if err := accountsIn(t.tx).release(ctx, r); err != nil {
		return err
	}
	t.tellTurn(r, fika.Waiting, EventData{Wait: reason})
	return t.put(ctx, `UPDATE requests SET state = 'waiting', reason = ?, wait_until = ?,
attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END WHERE id = ?`, reason, until, r.id)
}

// selectChildren selects children by the ids stored in their steps.
const selectChildren = `SELECT ` + requestColumns + `, a.name, c.name, ` + addressedName + `, s.n
FROM steps s JOIN requests r ON r.id = s.pre_hash AND r.parent = s.request
JOIN agents a ON a.id = r.agent JOIN conversations c ON c.id = r.conversation
WHERE s.request = ? AND s.pre_hash <> ''`

func scanChild(s scanner) (Child, error) {
	var k Child
	var err error
	k.Request, err = requestRow(s, &k.AgentName, &k.ConversationName, &k.AddressedName, &k.N)
	return k, err
}

// Children reads the tasks that a request has delegated, by step.
func (s Requests) Children(ctx context.Context, id fika.RequestID) ([]Child, error) {
	all, err := many(ctx, s.r, scanChild, selectChildren+` ORDER BY s.n`, id)
	return all, s.explain("read children", err)
}

// Await reads the children of the started steps. The request is suspended again while
// some child has no outcome and its deadline has not passed by more than a few
// seconds. A child that is later than that is told to stop and no longer waited for.
func (s Turns) Await(ctx context.Context, f Fence) (Awaited, error) {
	var out Awaited
	err := s.withinLease(ctx, "await children", f, stepStays, func(ctx context.Context, t *tx, r turn) error {
		out = Awaited{}
		var err error
		out.Children, err = many(ctx, t, scanChild, selectChildren+` AND s.state = 'started' ORDER BY s.n`, r.id)
		if err != nil {
			return err
		}
		until := int64(0)
		for i, k := range out.Children {
			over := ms(k.Deadline) + overdue.Milliseconds()
			switch {
			case k.State.Terminal():
			case over > t.now:
				until = max(until, over)
			default:
				if out.Children[i].Request, err = childrenIn(t).expired(ctx, k.ID); err != nil {
					return err
				}
			}
		}
		if out.Waiting = until > 0; out.Waiting {
			return childrenIn(t).suspend(ctx, r, fika.WaitChild, until)
		}
		return nil
	})
	return out, err
}

// expired cancels a request whose deadline nobody else has enforced.
func (t childRows) expired(ctx context.Context, id fika.RequestID) (fika.Request, error) {
	if err := t.cancel(ctx, id, reasonDeadline); err != nil {
		return fika.Request{}, err
	}
	r, _, err := one(ctx, t, scanRequest, `SELECT `+requestColumns+` FROM requests r WHERE r.id = ?`, id)
	return r, err
}

// below selects the conversations of the unfinished tasks that were delegated,
// directly or not, by the turns of one conversation.
const below = `WITH RECURSIVE down (id, conversation) AS (
SELECT r.id, substr(r.conversation, 1, 0) FROM requests r WHERE r.conversation = ? AND r.finished_at = 0
UNION ALL SELECT k.id, k.conversation FROM requests k JOIN down ON k.parent = down.id AND k.parent <> '' AND k.finished_at = 0)
SELECT conversation FROM down WHERE conversation <> ''`

// orphan cancels the children of unfinished requests that are about to be deleted;
// where is a condition on those requests, p.
func (t childRows) orphan(ctx context.Context, where string, arg any) error {
	left, err := many(ctx, t, scanText, fmt.Sprintf(`SELECT k.id FROM requests p JOIN requests k ON k.parent = p.id
WHERE %s AND p.finished_at = 0 AND k.parent <> '' AND k.finished_at = 0`, where), arg)
	if err != nil {
		return err
	}
	for _, id := range left {
		if err := t.cancel(ctx, fika.RequestID(id), "who asked for it was deleted"); err != nil {
			return err
		}
	}
	return nil
}
