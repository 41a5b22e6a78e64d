// Package door is a door in one file: HTTP with server-sent events. It shows how a door is
// written, and is the one that the tests go through. It translates, and nothing else: it
// keeps no state, decides nothing about who may do what, and knows package api alone.
//
//	GET  /state                 how things stand, with the cursor to watch from
//	GET  /events                what happens, as events; Last-Event-ID or ?since= goes on
//	GET  /agents /conversations /requests /conversations/NAME/entries
//	POST /conversations/NAME/messages   /conversations/NAME/{pause,resume,stop,continue}
//	POST /asks   /requests/ID/{cancel,retry}   /approvals/N   /pause   /resume
//
// Scopes are query parameters: conversation, agent and request, as often as needed, kind,
// tree, until. An Idempotency-Key makes a POST safe to repeat.
//
// Read first: [Handler], server.events, server.state, write.
package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fika/internal/api"
)

const (
	maxBody = 1 << 20
	maxKey  = 256
	// patience is how long a client may take nothing before its stream ends. It loses
	// nothing: the next one goes on from the last event that it has got.
	patience = 30 * time.Second
)

// Authenticate finds out who asks, and returns the service of that principal. What a
// client says about itself decides nothing.
type Authenticate func(*http.Request) (api.Service, bool)

// server answers the requests of one listener.
type server struct{ as Authenticate }

// Handler returns the door. It refuses whatever was not sent to this machine by name, so
// that no page of a foreign site reaches it under a name of its own.
func Handler(as Authenticate) http.Handler {
	s := server{as}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", s.state)
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("GET /agents", read(s, func(r *http.Request, to api.Service, p api.Page) (any, error) {
		return to.Agents(r.Context(), p)
	}))
	mux.HandleFunc("GET /conversations", read(s, func(r *http.Request, to api.Service, p api.Page) (any, error) {
		return to.Conversations(r.Context(), p)
	}))
	mux.HandleFunc("GET /requests", read(s, func(r *http.Request, to api.Service, p api.Page) (any, error) {
		return to.Requests(r.Context(), scopeOf(r), p)
	}))
	mux.HandleFunc("GET /conversations/{name}/entries", read(s, func(r *http.Request, to api.Service, p api.Page) (any, error) {
		return to.Entries(r.Context(), r.PathValue("name"), p)
	}))
	mux.HandleFunc("POST /conversations/{name}/messages", write(s, func(r *http.Request, to api.Service, m api.Message, w api.Write) (any, error) {
		m.Conversation = r.PathValue("name")
		return to.Send(r.Context(), m, w)
	}))
	mux.HandleFunc("POST /asks", write(s, func(r *http.Request, to api.Service, a api.Ask, w api.Write) (any, error) {
		return to.Ask(r.Context(), a, w)
	}))
	mux.HandleFunc("POST /requests/{id}/cancel", write(s, func(r *http.Request, to api.Service, b reason, w api.Write) (any, error) {
		return done{}, to.Cancel(r.Context(), r.PathValue("id"), b.Reason, w)
	}))
	mux.HandleFunc("POST /requests/{id}/retry", write(s, func(r *http.Request, to api.Service, _ done, w api.Write) (any, error) {
		id, err := to.Retry(r.Context(), r.PathValue("id"), w)
		return api.Asked{Request: id}, err
	}))
	mux.HandleFunc("POST /approvals/{number}", write(s, func(r *http.Request, to api.Service, a api.Answer, w api.Write) (any, error) {
		n, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
		if err != nil {
			return nil, &api.Error{Code: api.Invalid, Field: "number"}
		}
		return done{}, to.Answer(r.Context(), n, a, w)
	}))
	for verb, do := range map[string]func(api.Service, context.Context, string, api.Write) error{
		"pause": api.Service.Pause, "resume": api.Service.Resume, "stop": api.Service.Stop, "continue": api.Service.Continue,
	} {
		change := write(s, func(r *http.Request, to api.Service, _ done, w api.Write) (any, error) {
			return done{}, do(to, r.Context(), r.PathValue("name"), w)
		})
		mux.HandleFunc("POST /conversations/{name}/"+verb, change)
		mux.HandleFunc("POST /"+verb, change) // of the whole home
	}
	return here(http.NewCrossOriginProtection().Handler(mux))
}

// here passes on what was sent to a name of this machine.
func here(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			fail(w, &api.Error{Code: api.Denied, Field: "Host"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

type (
	reason struct {
		Reason string `json:"reason"`
	}
	done struct{}
)

// principal returns the service of whoever asks, or refuses the request.
func (s server) principal(w http.ResponseWriter, r *http.Request) (api.Service, bool) {
	to, ok := s.as(r)
	if !ok {
		fail(w, &api.Error{Code: api.Unauthenticated})
	}
	return to, ok
}

// read is a handler that shows a page of something.
func read(s server, do func(*http.Request, api.Service, api.Page) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		to, ok := s.principal(w, r)
		if !ok {
			return
		}
		p := api.Page{After: r.FormValue("after")}
		if limit := r.FormValue("limit"); limit != "" {
			var err error
			if p.Limit, err = strconv.Atoi(limit); err != nil {
				fail(w, &api.Error{Code: api.Invalid, Field: "limit"})
				return
			}
		}
		out, err := do(r, to, p)
		answer(w, out, err)
	}
}

// write is a handler that changes something. Its body is JSON; an empty one is the zero
// value. Unknown fields are refused, because they were meant to do something.
func write[Body any](s server, do func(*http.Request, api.Service, Body, api.Write) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		to, ok := s.principal(w, r) // before the body is looked at
		if !ok {
			return
		}
		key := r.Header.Get("Idempotency-Key")
		if len(key) > maxKey {
			fail(w, &api.Error{Code: api.Invalid, Field: "Idempotency-Key"})
			return
		}
		var body Body
		from := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
		from.DisallowUnknownFields()
		if err := from.Decode(&body); err != nil && err != io.EOF {
			var large *http.MaxBytesError
			code := api.Invalid
			if errors.As(err, &large) {
				code = api.TooLarge
			}
			fail(w, &api.Error{Code: code, Field: "body"})
			return
		}
		out, err := do(r, to, body, api.Write{Key: key})
		answer(w, out, err)
	}
}

// scopeOf reads a scope from the query.
func scopeOf(r *http.Request) api.Scope {
	q := r.URL.Query()
	s := api.Scope{
		Conversations: q["conversation"], Agents: q["agent"], Requests: q["request"],
		Tree: q.Has("tree"), Until: q.Has("until"), Content: true, Deltas: true,
	}
	for _, k := range q["kind"] {
		s.Kinds = append(s.Kinds, api.EventKind(k))
	}
	return s
}

// State is the answer to GET /state.
type State struct {
	Cursor api.Cursor `json:"cursor"`
	State  api.State  `json:"state"`
}

func (s server) state(w http.ResponseWriter, r *http.Request) {
	to, ok := s.principal(w, r)
	if !ok {
		return
	}
	st, at, err := to.Look(r.Context(), scopeOf(r))
	answer(w, State{at, st}, err)
}

// events streams what happens. Each committed event has its cursor as id, so a browser
// that connects again goes on where it was; live text has none. A stream that ends with
// reset has to begin with GET /state.
func (s server) events(w http.ResponseWriter, r *http.Request) {
	to, ok := s.principal(w, r)
	if !ok {
		return
	}
	since := api.Cursor(r.Header.Get("Last-Event-ID"))
	if since == "" {
		since = api.Cursor(r.FormValue("since"))
	}
	begun := false
	for e, err := range to.Watch(r.Context(), scopeOf(r), since) {
		kind, data := string(e.Kind), any(e)
		switch {
		case err != nil && !begun:
			fail(w, err)
			return
		case err != nil:
			kind, data = "error", failure(err)
		case !begun:
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Cache-Control", "no-store")
		}
		begun = true
		if err := sendEvent(w, kind, e.Cursor, data); err != nil {
			return // the client has left, or takes nothing
		}
	}
}

func sendEvent(w http.ResponseWriter, kind string, at api.Cursor, data any) error {
	body, err := json.Marshal(data)
	if err != nil {
		return err
	}
	id := ""
	if at != "" {
		id = "id: " + string(at) + "\n"
	}
	out := http.NewResponseController(w)
	if err := out.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "%sevent: %s\ndata: %s\n\n", id, kind, body); err != nil {
		return err
	}
	return errors.Join(out.Flush(), out.SetWriteDeadline(time.Time{}))
}

// failure returns an error as its client may know it: codes, and no text of ours.
func failure(err error) *api.Error {
	e := &api.Error{Code: api.CodeOf(err)}
	var known *api.Error
	if errors.As(err, &known) {
		e.Field, e.Why, e.Retry = known.Field, known.Why, known.Retry
	}
	return e
}

func fail(w http.ResponseWriter, err error) {
	e := failure(err)
	if e.Retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((e.Retry+time.Second-1)/time.Second)))
	}
	send(w, statusOf(e.Code), e)
}

// statusOf maps each code to a number of HTTP.
func statusOf(code api.ErrorCode) int {
	switch code {
	case api.Invalid:
		return http.StatusBadRequest
	case api.Unauthenticated:
		return http.StatusUnauthorized
	case api.Denied:
		return http.StatusForbidden
	case api.NotFound:
		return http.StatusNotFound
	case api.Conflict:
		return http.StatusConflict
	case api.KeyReused:
		return http.StatusUnprocessableEntity
	case api.Reset:
		return http.StatusGone
	case api.TooLarge:
		return http.StatusRequestEntityTooLarge
	case api.Limit:
		return http.StatusTooManyRequests
	case api.Busy, api.Locked, api.Unavailable, api.Interrupted:
		return http.StatusServiceUnavailable
	case api.ProviderFailed:
		return http.StatusBadGateway
	}
	return http.StatusInternalServerError
}

func answer(w http.ResponseWriter, out any, err error) {
	if err != nil {
		fail(w, err)
		return
	}
	send(w, http.StatusOK, out)
}

func send(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that has left misses it
}
