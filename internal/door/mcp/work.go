package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fika/internal/api"
	"fika/internal/door"
)

// maxText is how much text of an answer, or of a page of entries, a result holds, in bytes.
const maxText = 64 << 10

// Work is how a request stands: what ask, start, status and cancel answer.
type Work struct {
	Request      string   `json:"request" jsonschema:"id of the work, for status and cancel"`
	Agent        string   `json:"agent"`
	Conversation string   `json:"conversation,omitempty" jsonschema:"for read"`
	State        string   `json:"state" jsonschema:"open, running or waiting: still working; done, failed, cancelled, interrupted or dead: ended"`
	Ended        bool     `json:"ended"`
	Answer       string   `json:"answer,omitempty"`
	Cut          int      `json:"cut,omitempty" jsonschema:"bytes left out at the end of the answer; read shows the conversation"`
	Waits        []string `json:"waits,omitempty" jsonschema:"what it waits for, and what helps"`
	Repeat       bool     `json:"repeat,omitempty" jsonschema:"this was asked before, and is the same work"`
}

// ok reports whether the work has not gone wrong.
func (w Work) ok() bool { return !w.Ended || w.State == "done" }

// text is the result as a model reads it.
func (w Work) text() string {
	var b strings.Builder
	switch {
	case w.State == "done":
		b.WriteString(w.Answer)
		if w.Cut > 0 {
			fmt.Fprintf(&b, "\n\n[%d bytes are left out: read conversation %s]", w.Cut, w.Conversation)
		}
		return b.String()
	case w.Ended:
		fmt.Fprintf(&b, "Request %s of @%s has ended without an answer: %s.", w.Request, w.Agent, w.State)
	default:
		fmt.Fprintf(&b, "@%s is still working, request %s: call status with it. Do not ask again.", w.Agent, w.Request)
	}
	for _, line := range w.Waits {
		b.WriteString("\n" + line)
	}
	return b.String()
}

// begin gives an agent work. A key of the client's own names it; without one, the same
// work for the same agent that has not ended is the same request: a client that has lost
// an answer, or a model that asks again, starts nothing twice.
func (s *server) begin(ctx context.Context, to api.Service, ask api.Ask, key string) (api.Asked, error) {
	if key != "" {
		return to.Ask(ctx, ask, api.Write{Key: "key\x00" + key})
	}
	raw, err := json.Marshal(ask)
	if err != nil {
		return api.Asked{}, err
	}
	for after := ""; ; {
		sum := sha256.Sum256(append(raw, after...))
		asked, err := to.Ask(ctx, ask, api.Write{Key: "same\x00" + hex.EncodeToString(sum[:])})
		switch {
		case api.CodeOf(err) == api.KeyReused: // the settings that go with it have changed since
			after += "\x00"
			continue
		case err != nil || !asked.Repeat:
			return asked, err
		}
		before, err := request(ctx, to, asked.Request)
		if err != nil && api.CodeOf(err) != api.NotFound || err == nil && !door.Ended(before) {
			return asked, err
		}
		after = "\x00" + asked.Request
	}
}

// request returns one request.
func request(ctx context.Context, to api.Service, id string) (api.RequestInfo, error) {
	list, err := to.Requests(ctx, api.Scope{Requests: []string{id}}, api.Page{Limit: 1})
	if err != nil {
		return api.RequestInfo{}, err
	}
	if len(list.Items) == 0 {
		return api.RequestInfo{}, &api.Error{Code: api.NotFound, Field: "request", Detail: "no request " + strconv.Quote(id)}
	}
	return list.Items[0], nil
}

// await returns how a request stands once it has ended, or after so long. tell is called
// meanwhile, at least as often as [Options].Progress says.
func (s *server) await(ctx context.Context, to api.Service, id string, long time.Duration, tell func(string)) (Work, error) {
	waiting, cancel := context.WithTimeout(ctx, min(long, s.Wait))
	defer cancel()
	stop := context.AfterFunc(s.open, cancel)
	defer stop()
	scope := api.Scope{Requests: []string{id}, Tree: true, Until: true}
	_, at, err := to.Look(ctx, scope)
	if err != nil {
		return Work{}, err
	}
	events := make(chan error, 1)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	watching.Go(func() {
		var failed error
		for _, err := range to.Watch(waiting, scope, at) {
			failed = err
		}
		events <- failed
	})
	tick := time.NewTicker(s.Progress)
	defer tick.Stop()
	for {
		select {
		case err := <-events:
			if err != nil && waiting.Err() == nil {
				return Work{}, err
			}
			return s.work(ctx, to, id)
		case <-tick.C:
			s.ready(ctx, false)
			if now, err := s.work(ctx, to, id); err == nil {
				tell(now.progress())
			}
		}
	}
}

// progress says in a line what goes on.
func (w Work) progress() string {
	if len(w.Waits) > 0 {
		return w.Waits[0]
	}
	return "@" + w.Agent + " is working"
}

// work returns how a request stands now.
func (s *server) work(ctx context.Context, to api.Service, id string) (Work, error) {
	r, err := request(ctx, to, id)
	if err != nil {
		return Work{}, err
	}
	w := Work{Request: r.ID, Agent: r.Agent, Conversation: r.Conversation, State: r.State, Ended: door.Ended(r)}
	switch {
	case w.State == "done":
		return w, s.answer(ctx, to, r, &w)
	case w.Ended:
		if r.Error != "" {
			w.Waits = append(w.Waits, "Why: "+string(r.Error)+". A person sees more with: fika request show "+r.ID)
		}
		return w, nil
	}
	st, _, err := to.Look(ctx, api.Scope{Requests: []string{r.ID}, Tree: true})
	if err != nil {
		return w, err
	}
	w.Waits = s.waits(st, r)
	return w, nil
}

// answer puts the answer of a request that is done into w.
func (s *server) answer(ctx context.Context, to api.Service, r api.RequestInfo, w *Work) error {
	if r.Answer == 0 {
		return nil // it has said nothing
	}
	page, err := to.Entries(ctx, r.Conversation, api.Page{After: strconv.FormatInt(r.Answer-1, 10), Limit: 1})
	if err != nil {
		return err
	}
	if len(page.Items) > 0 && page.Items[0].Seq == r.Answer {
		w.Answer, w.Cut = cut(page.Items[0].Content, maxText)
	}
	return nil
}

// cut returns the beginning of a text, and how many bytes it leaves out.
func cut(text string, most int) (string, int) {
	if len(text) <= most {
		return text, 0
	}
	short := strings.ToValidUTF8(text[:most], "")
	return short, len(text) - len(short)
}

// waits says what a request that goes on waits for, or what its agent does.
func (s *server) waits(st api.State, r api.RequestInfo) (out []string) {
	for _, a := range st.Approvals {
		out = append(out, fmt.Sprintf("It waits for approval %d: @%s wants to call %s %s. Only a person can answer, in a terminal: fika approve %d (fika approve lists all).",
			a.Number, a.Agent, a.Tool, short(string(a.Args)), a.Number))
	}
	if st.Paused {
		out = append(out, "All work is paused: a person resumes it with fika chat resume --all.")
	}
	for _, x := range st.Requests {
		switch {
		case x.Tool != "":
			out = append(out, fmt.Sprintf("@%s runs %s.", x.Agent, x.Tool))
		case x.ID != r.ID && !door.Ended(x):
			out = append(out, fmt.Sprintf("@%s works for it, request %s.", x.Agent, x.ID))
		case x.Wait != "" && x.Wait != "approval" && x.Wait != "child":
			out = append(out, "It waits: "+x.Wait+".")
		}
	}
	for _, a := range st.Agents {
		for _, why := range []api.Status{a.Trouble, a.Why} {
			if why.NeedsPerson && s.Words != nil && (a.Name == r.Agent || !why.IsClear()) {
				out = append(out, s.Words(why))
			}
		}
	}
	return slices.Compact(out) // both may say the same
}

// short returns the beginning of arguments for a line.
func short(args string) string {
	text, left := cut(args, 2000)
	if left > 0 {
		text += fmt.Sprintf(" [and %d bytes]", left)
	}
	return text
}
