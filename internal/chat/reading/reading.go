package reading

import (
	"context"
	"slices"
	"time"

	"fika"
	"fika/internal/store"
)

// Store is the part of the store that this package needs.
type Store interface {
	ListRequests(context.Context, store.RequestFilter) ([]store.RequestInfo, error)
	Search(ctx context.Context, words string, f store.ConversationFilter) ([]store.Found, error)
	ConversationByID(context.Context, fika.ConversationID) (fika.Conversation, error)
	ListAgents(context.Context) ([]fika.Agent, error)
	Participants(context.Context, fika.ConversationID) ([]string, error)
}

// Archive gives access to everything said and done in a home.
type Archive struct {
	Store Store
	// ReadableBy returns the agents that may read another's context; nil means all.
	ReadableBy func(context.Context, fika.AgentName) ([]string, error)
}

// Reader is the agent that reads; empty: a person.
type Reader = fika.AgentName

// CheckReader fails with Denied if a context leaves the reader out.
func (a Archive) CheckReader(ctx context.Context, r Reader, name fika.AgentName) error {
	if r == "" || r == name {
		return nil
	}
	list, err := a.ReadableBy(ctx, name)
	if err != nil {
		return err
	}
	if list != nil && !slices.Contains(list, string(r)) {
		return fika.Errorf(fika.Denied, "read context", "%s is not readable by %s (readable_by)", name, r)
	}
	return nil
}

// Task is a task with its result.
type Task struct {
	ID           fika.RequestID
	Conversation fika.ConversationName
	From         string // who gave it
	Prompt       string
	Result       string
	Taint        string // what text from outside had been read; empty: none
	At           time.Time
}

// readAhead is the factor by which more is read than wanted, because the reader may
// not see some of it.
const readAhead = 4

// Tasks returns the last tasks that an agent has done and the reader may see, oldest
// first.
func (a Archive) Tasks(ctx context.Context, r Reader, agent fika.Agent, last int) ([]Task, error) {
	done, err := a.Store.ListRequests(ctx, store.RequestFilter{
		Agent: agent.ID, Kinds: []fika.RequestKind{fika.TaskRequest}, States: []fika.RequestState{fika.Done}, Limit: readAhead * last,
	})
	if err != nil {
		return nil, err
	}
	var out []Task
	for _, q := range done {
		if len(out) == last {
			break
		}
		if ok, err := a.mayTask(ctx, r, q); err != nil {
			return nil, err
		} else if ok {
			out = append(out, taskOf(q))
		}
	}
	slices.Reverse(out)
	return out, nil
}

// Task returns one task of an agent. It fails with NotFound when q is not a task that
// the agent has done, or the reader may not see it.
func (a Archive) Task(ctx context.Context, r Reader, agent fika.Agent, q store.RequestInfo) (Task, error) {
	ok := q.Agent == agent.ID && q.Kind == fika.TaskRequest && q.State == fika.Done
	if ok {
		var err error
		if ok, err = a.mayTask(ctx, r, q); err != nil {
			return Task{}, err
		}
	}
	if !ok {
		return Task{}, fika.Errorf(fika.NotFound, "read task", "%s has done no such task", agent.Name)
	}
	return taskOf(q), nil
}

func taskOf(q store.RequestInfo) Task {
	return Task{ID: q.ID, Conversation: q.ConversationName, From: q.Payload.From, Prompt: q.Payload.Prompt, Result: q.Outcome.Answer, Taint: q.Taint, At: q.FinishedAt}
}

// mayTask reports whether the reader may see a task.
func (a Archive) mayTask(ctx context.Context, r Reader, q store.RequestInfo) (bool, error) {
	giver := fika.AgentName("")
	if q.Payload.Writer == fika.ByAgent {
		giver = fika.AgentName(q.Payload.From)
	}
	if r == "" || r == giver {
		return true, nil
	}
	names := []fika.AgentName{q.AgentName}
	if giver != "" {
		names = append(names, giver)
	}
	for _, name := range names {
		if err := a.CheckReader(ctx, r, name); fika.IsKind(err, fika.Denied) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	return true, nil
}

// Search returns matching entries that the reader may see, newest first.
func (a Archive) Search(ctx context.Context, r Reader, words string, f store.ConversationFilter) ([]store.Found, error) {
	want := f.Limit
	if r != "" && want > 0 {
		f.Limit *= readAhead
	}
	found, err := a.Store.Search(ctx, words, f)
	if err != nil || r == "" {
		return found, err
	}
	may := map[fika.ConversationID]bool{}
	var out []store.Found
	for _, x := range found {
		ok, known := may[x.Conversation]
		if !known {
			if ok, err = a.MayConversation(ctx, r, x.Conversation); err != nil {
				return nil, err
			}
			may[x.Conversation] = ok
		}
		if ok && (want <= 0 || len(out) < want) {
			out = append(out, x)
		}
	}
	return out, nil
}

// MayConversation reports whether the reader may see a conversation.
func (a Archive) MayConversation(ctx context.Context, r Reader, id fika.ConversationID) (bool, error) {
	if r == "" {
		return true, nil
	}
	conv, err := a.Store.ConversationByID(ctx, id)
	if err != nil {
		return false, err
	}
	switch conv.Kind {
	case fika.Chat:
		in, err := a.Store.Participants(ctx, id)
		return slices.Contains(in, string(r)), err
	case fika.Task:
		list, err := a.Store.ListRequests(ctx, store.RequestFilter{Conversation: id})
		for _, q := range list {
			if ok, err := a.mayTask(ctx, r, q); !ok || err != nil {
				return false, err
			}
		}
		return len(list) > 0, err
	}
	agents, err := a.Store.ListAgents(ctx)
	if err != nil {
		return false, err
	}
	for _, row := range agents {
		if row.ID == conv.Agent {
			err := a.CheckReader(ctx, r, row.Name)
			if fika.IsKind(err, fika.Denied) {
				return false, nil
			}
			return err == nil, err
		}
	}
	return false, nil
}
