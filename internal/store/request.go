package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/text/hint"
)

// RequestFilter narrows [Requests.ListRequests]; empty fields match everything.
type RequestFilter struct {
	Agent        fika.AgentID
	Addressed    fika.AgentID // the agent asked, where another works the request
	Concerns     fika.AgentID // the agent asked, or the one that works it
	Handed       bool         // only requests that were handed over
	Conversation fika.ConversationID
	States       []fika.RequestState
	Kinds        []fika.RequestKind
	Since        time.Time      // created or finished after
	Before       fika.RequestID // only those accepted before this one; empty: all
	Limit        int
}

// RequestInfo is a request with the names that lists show.
type RequestInfo struct {
	fika.Request
	AgentName        fika.AgentName // the agent that works it
	AddressedName    fika.AgentName // the agent that was asked, if another works it
	ConversationName fika.ConversationName
}

// AskedName returns the agent that was asked, whoever works the request.
func (i RequestInfo) AskedName() fika.AgentName {
	if i.AddressedName != "" {
		return i.AddressedName
	}
	return i.AgentName
}

// addressedName selects the name of the agent that was asked for r, if another works
// it.
const addressedName = `COALESCE((SELECT o.name FROM agents o WHERE o.id = r.addressed AND r.addressed <> ''), '')`

const selectRequestInfo = `SELECT ` + requestColumns + `, a.name, c.name, ` + addressedName + `
FROM requests r JOIN agents a ON a.id = r.agent JOIN conversations c ON c.id = r.conversation`

func scanRequestInfo(s scanner) (RequestInfo, error) {
	var i RequestInfo
	var err error
	i.Request, err = requestRow(s, &i.AgentName, &i.ConversationName, &i.AddressedName)
	return i, err
}

// Told is the beginning of a message that called an agent.
type Told struct {
	Seq     int64
	From    string
	Content string // at most 400 characters
}

// Told returns the newest message of a chat that each of these requests answers, of those
// that a message has begun.
func (s Requests) Told(ctx context.Context, ids ...fika.RequestID) (map[fika.RequestID]Told, error) {
	out := map[fika.RequestID]Told{}
	for some := range slices.Chunk(ids, 500) {
		args := make([]any, len(some))
		for i, id := range some {
			args[i] = id
		}
		_, err := many(ctx, s.r, func(sc scanner) (id fika.RequestID, err error) {
			var t Told
			err = sc.Scan(&id, &t.Seq, &t.From, &t.Content)
			if t.Seq > out[id].Seq {
				out[id] = t
			}
			return id, err
		}, `SELECT n.request, e.seq, e.sender, substr(e.content, 1, 400) FROM notifications n
JOIN entries e ON e.conversation = n.conversation AND e.seq = n.seq
WHERE n.request <> '' AND n.request IN (`+placeholders(len(some))+`)`, args...)
		if err != nil {
			return nil, s.explain("read requests", err)
		}
	}
	return out, nil
}

// minPrefix is the length of the shortest prefix of an id that is accepted.
const minPrefix = 6

// Request reads a request by its id or by a unique prefix of at least 6 characters.
// It fails with NotFound, and with Invalid if several ids have the prefix.
func (s Requests) Request(ctx context.Context, id fika.RequestID) (RequestInfo, error) {
	const op = "read request"
	r, ok, err := one(ctx, s.r, scanRequestInfo, selectRequestInfo+` WHERE r.id = ?`, id)
	if err != nil || ok {
		return r, s.explain(op, err)
	}
	if len(id) < minPrefix {
		return r, fika.WithHint(fika.Errorf(fika.NotFound, op, "request %q not found", id), hint.RequestList.With())
	}
	found, err := many(ctx, s.r, scanRequestInfo, selectRequestInfo+` WHERE r.id >= ? AND r.id < ? ORDER BY r.id LIMIT 2`, id, string(id)+"\U0010ffff")
	switch {
	case err != nil:
		return r, s.explain(op, err)
	case len(found) == 0:
		return r, fika.WithHint(fika.Errorf(fika.NotFound, op, "request %q not found", id), hint.RequestList.With())
	case len(found) > 1:
		return r, fika.Errorf(fika.Invalid, op, "several requests begin with %q: give more of the id", id)
	}
	return found[0], nil
}

// unfinished selects unfinished requests by n. They are few among many, and an order
// by n alone would not find them quickly.
const unfinished = `n IN (SELECT o.n FROM requests o WHERE o.finished_at = 0)`

// ListRequests returns the requests that match, newest first.
func (s Requests) ListRequests(ctx context.Context, f RequestFilter) ([]RequestInfo, error) {
	var where []string
	var args []any
	if f.Agent != "" {
		where, args = append(where, `r.agent = ?`), append(args, f.Agent)
	}
	if f.Addressed != "" {
		where, args = append(where, `r.addressed = ? AND r.addressed <> ''`), append(args, f.Addressed)
	}
	if f.Concerns != "" {
		where, args = append(where, `(r.agent = ? OR (r.addressed = ? AND r.addressed <> ''))`), append(args, f.Concerns, f.Concerns)
	}
	if f.Handed {
		where = append(where, `r.handed <> ''`)
	}
	if f.Conversation != "" {
		where, args = append(where, `r.conversation = ?`), append(args, f.Conversation)
	}
	if len(f.States) > 0 {
		where = append(where, `r.state IN (`+placeholders(len(f.States))+`)`)
		// Repeat the condition in the words of an index.
		switch {
		case !slices.ContainsFunc(f.States, fika.RequestState.Terminal):
			where = append(where, `r.`+unfinished)
		case !slices.ContainsFunc(f.States, func(st fika.RequestState) bool { return !st.Terminal() || st == fika.Done }):
			where = append(where, `r.state IN ('failed', 'cancelled', 'interrupted', 'dead')`)
		}
		for _, st := range f.States {
			args = append(args, st)
		}
	}
	if len(f.Kinds) > 0 {
		where = append(where, `r.kind IN (`+placeholders(len(f.Kinds))+`)`)
		for _, k := range f.Kinds {
			args = append(args, k)
		}
	}
	if !f.Since.IsZero() {
		where = append(where, `(r.created_at > ? OR r.finished_at > ?)`)
		args = append(args, ms(f.Since), ms(f.Since))
	}
	if f.Before != "" {
		where, args = append(where, `r.n < (SELECT o.n FROM requests o WHERE o.id = ?)`), append(args, f.Before)
	}
	text := byArguments + selectRequestInfo
	if len(where) > 0 {
		text += ` WHERE ` + strings.Join(where, ` AND `)
	}
	all, err := many(ctx, s.r, scanRequestInfo, text+` ORDER BY r.n DESC LIMIT ?`, append(args, noLimit(f.Limit))...)
	return all, s.explain("list requests", err)
}
