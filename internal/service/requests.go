package service

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/bus/message"
	"fika/internal/store"
)

// Requests is the interface to requests: submit, follow, cancel, retry.
type Requests struct{ c *Service }

// Ask is work for an agent.
type Ask struct {
	ID         fika.RequestID // empty: one is generated
	Kind       fika.RequestKind
	Prompt     string
	As         Alias
	Model      string // for this request only; empty: the agent's
	Background bool   // nobody waits for it
	// Attachments are pictures that are stored already and that the prompt describes.
	Attachments []fika.Attachment
	// Sender is the program that asks, such as the master console; empty: a command.
	Sender string
	// Conversation is the ask conversation that goes on, or is begun; empty: the agent's
	// ongoing one. History is what was said before, if it is begun.
	Conversation string
	History      []fika.HistoryEntry
	Form         *fika.AnswerForm // nil: text
	Deadline     time.Time        // zero: none
	Workspace    string           // an absolute path, which only a person names; empty: the agent's own
}

// check refuses (Invalid) what cannot be asked.
func (a Ask) check(now time.Time) error {
	bad := func(format string, args ...any) error { return fika.Errorf(fika.Invalid, "", format, args...) }
	switch {
	case a.Kind == fika.TaskRequest && (a.Conversation != "" || len(a.History) > 0):
		return bad("a task has a conversation of its own, without a history")
	case len(a.Prompt) > message.MaxPrompt:
		return bad("the prompt has %d bytes; at most %d are taken", len(a.Prompt), message.MaxPrompt)
	case len(a.History) > message.MaxHistory:
		return bad("the history has %d messages; at most %d are taken", len(a.History), message.MaxHistory)
	case a.Form != nil && len(a.Form.Schema) > 0 && !json.Valid(a.Form.Schema):
		return bad("the schema of the answer is not JSON")
	case a.Workspace != "" && !filepath.IsAbs(a.Workspace):
		return bad("the workspace %.80q is not an absolute path", a.Workspace)
	case !a.Deadline.IsZero() && !a.Deadline.After(now):
		return bad("the deadline %s has passed", a.Deadline.Format(time.RFC3339))
	}
	for i, h := range a.History {
		if h.Role != "user" && h.Role != "assistant" {
			return bad("message %d of the history has the role %.40q; want user or assistant", i, h.Role)
		}
	}
	return nil
}

// Submit commits work for an agent in the name of the caller, and wakes the agent.
// Error kinds: Denied for a name that is not the speaker's, Invalid if an agent asks
// itself and for what cannot be asked, Conflict for a conversation that is not one of the
// agent's, Limit if an agent's chain may grow no further.
func (s *Requests) Submit(ctx context.Context, row fika.Agent, ask Ask) (Accepted, error) {
	if err := s.c.mayAgent(ctx, "agent."+string(ask.Kind), row.Name); err != nil {
		return Accepted{}, err
	}
	if err := ask.check(s.c.now()); err != nil {
		return Accepted{}, err
	}
	if ask.Workspace != "" && s.c.who.Kind != api.Person {
		return Accepted{}, fika.Errorf(fika.Denied, "", "only a person can choose the folder of an agent")
	}
	settings, err := s.c.app.Settings(row.Name, nil, false)
	if fika.IsKind(err, fika.Invalid) { // the agent reports it, or the settings are corrected before it takes the work
		settings, err = s.c.app.PlainSettings(row.Name)
	}
	if err == nil && ask.Model != "" {
		err = s.checkModel(ctx, row, ask.Model)
	}
	if err != nil {
		return Accepted{}, err
	}
	from := settings.Username
	if ask.As.Name != "" {
		if from, err = fika.ParseUsername(ask.As.Name); err != nil {
			return Accepted{}, err
		}
	}
	return s.submit(ctx, row, ask, fika.Payload{
		Prompt: ask.Prompt, From: from, Writer: fika.ByHuman, Model: ask.Model, Background: ask.Background, Sender: ask.Sender,
		Attachments: ask.Attachments, History: ask.History, Form: ask.Form, Workspace: ask.Workspace,
	})
}

// checkModel refuses (Invalid) a model that an agent of this home could not be given.
func (s *Requests) checkModel(ctx context.Context, row fika.Agent, model string) error {
	if away, err := s.c.hostOf(ctx, row); err != nil || away != nil {
		return err // its settings are elsewhere
	}
	if _, err := s.c.app.Settings(row.Name, nil, true); err != nil {
		return nil // as without a model: the agent reports it
	}
	_, err := s.c.app.Settings(row.Name, map[string]string{"model": model}, true)
	return err
}

// SubmitPrompt submits a prompt for a context to the agent process that holds the
// context. flags are settings for this prompt alone; the agent works in the person's
// current folder.
func (s *Requests) SubmitPrompt(ctx context.Context, row fika.Agent, prompt string, pictures []fika.Attachment, flags map[string]string, as Alias) (Accepted, error) {
	if err := s.c.mayAgent(ctx, "agent.run", row.Name); err != nil {
		return Accepted{}, err
	}
	settings, err := s.c.app.Settings(row.Name, flags, false)
	if err != nil {
		return Accepted{}, err
	}
	return s.submit(ctx, row, Ask{Kind: fika.AskRequest, As: as}, fika.Payload{
		Prompt: prompt, Attachments: pictures, From: settings.Username, Writer: fika.ByHuman, Model: flags["model"], Workspace: settings.WorkspaceOr(s.c.app.Dir()),
	})
}

func (s *Requests) submit(ctx context.Context, row fika.Agent, ask Ask, p fika.Payload) (Accepted, error) {
	if p.Trace = api.TraceIn(ctx); p.Trace == "" && s.c.who.Kind == api.Person {
		p.Trace = api.TraceIn(api.WithTrace(ctx, s.c.app.Getenv("TRACEPARENT")))
	}
	r, say, err := s.spoken(ctx, row, ask.As, store.NewRequest{ID: ask.ID, Kind: ask.Kind, Origin: fika.Queued, Agent: row.ID, Deadline: ask.Deadline, Payload: p})
	if err != nil {
		return Accepted{}, err
	}
	if r.Conversation, err = s.askedIn(ctx, row, ask); err != nil {
		return Accepted{}, err
	}
	body := []any{row.ID, p.Prompt, p.From, p.Model, p.Workspace, p.Attachments, r.Conversation, p.History, p.Form}
	accepted, err := once(ctx, say, "agent."+string(ask.Kind), body,
		func(to *store.Store) (Accepted, error) { return to.Accept(ctx, r) },
		func(done *store.Repeated) (Accepted, error) {
			info, err := s.c.store.Request(ctx, done.Last(store.RequestEvent).Request)
			return Accepted{Request: info.Request, Repeat: true}, err
		})
	if err == nil {
		s.c.wake(ctx, row.Name)
	}
	return accepted, err
}

// spoken attributes a request to the speaker: a person under a name that is nobody
// else's, or the agent whose tool runs the command. It also returns the service for what
// the speaker asks.
func (s *Requests) spoken(ctx context.Context, to fika.Agent, as Alias, r store.NewRequest) (store.NewRequest, *Service, error) {
	speaker, say, err := s.c.speaker(ctx, as)
	switch {
	case err != nil:
		return r, say, err
	case s.c.who.Kind == api.Program:
		r, err = s.c.programAsks(ctx, to, r)
		return r, say, err
	case speaker == nil:
		if err := s.c.app.MayCall(ctx, nil, to.Name); err != nil {
			return r, say, err
		}
		return r, say, s.c.app.MayBeCalled(ctx, r.Payload.From)
	case speaker.Agent == to.Name:
		return r, say, fika.Errorf(fika.Invalid, "", "@%s cannot ask itself: it would wait for its own answer", to.Name)
	}
	if err := s.c.app.MayCall(ctx, speaker, to.Name); err != nil {
		return r, say, err
	}
	limits, err := s.c.limitsOf(speaker)
	if err != nil {
		return r, say, err
	}
	r, err = speaker.SignRequest(r, limits)
	return r, say, err
}

// askedIn returns the conversation that an ask means: "" for the agent's ongoing one. What
// a program asks is said in conversations of its own, but for one that goes on by name for
// a person's program.
func (s *Requests) askedIn(ctx context.Context, to fika.Agent, ask Ask) (name fika.ConversationName, err error) {
	if ask.Conversation != "" {
		if name, err = fika.ParseConversationName(ask.Conversation); err != nil {
			return "", err
		}
	}
	switch {
	case ask.Kind == fika.TaskRequest:
		return "", nil
	case s.c.who.Kind == api.Program && (s.c.who.For == "" || name == ""):
		return message.MemberConversation(to.Name, s.c.who.Name, name), nil
	case name == "":
		return "", nil
	}
	conv, err := s.c.store.Conversation(ctx, name)
	switch {
	case fika.IsKind(err, fika.NotFound):
		return name, nil
	case err != nil:
		return "", err
	case conv.Kind != fika.Ask:
		return "", fika.Errorf(fika.Conflict, "", "%q is not an ask conversation of %s", name, to.Name)
	}
	return name, s.c.mayConversation(ctx, "conversation.send", conv.ID)
}

// Request returns a request by its id or a unique prefix of it, or NotFound. It returns
// Denied if an agent asks through a command in one of its tools and may not see the
// request.
func (s *Requests) Request(ctx context.Context, id fika.RequestID) (RequestInfo, error) {
	r, err := s.c.store.Request(ctx, id)
	if err == nil {
		err = s.c.mayRequest(ctx, "request.show", r)
	}
	return r, err
}

// List returns the requests that the caller may see, newest first.
func (s *Requests) List(ctx context.Context, f RequestFilter) ([]RequestInfo, error) {
	return s.c.sight().requests(ctx, f)
}

// About returns what each of some requests is about, by its id: its prompt or, of one that
// messages in a chat have begun, the newest of these with who wrote it, else its
// conversation.
func (s *Requests) About(ctx context.Context, list ...RequestInfo) (map[fika.RequestID]string, error) {
	out := map[fika.RequestID]string{}
	var ids []fika.RequestID
	sees := s.c.sight()
	for _, r := range list {
		if out[r.ID] = r.Payload.Prompt; out[r.ID] != "" {
			continue
		}
		if r.ConversationName != "" {
			out[r.ID] = "(" + string(r.ConversationName) + ")"
		}
		may, err := sees.conversation(ctx, r.Conversation)
		if err != nil {
			return nil, err
		}
		if may && r.Kind == fika.NotifyRequest {
			ids = append(ids, r.ID)
		}
	}
	told, err := s.c.store.Told(ctx, ids...)
	for id, t := range told {
		out[id] += " " + t.From + ": " + t.Content
	}
	return out, err
}

// Entries returns the entries that a request has made, in order.
func (s *Requests) Entries(ctx context.Context, id fika.RequestID) ([]fika.Entry, error) {
	if err := s.mayLook(ctx, "request.entries", id); err != nil {
		return nil, err
	}
	return s.c.store.OfRequest(ctx, id)
}

// mayLook is [Service.mayRequest] for a request that has not been read.
func (s *Requests) mayLook(ctx context.Context, verb string, id fika.RequestID) error {
	r, err := s.c.store.Request(ctx, id)
	if err != nil {
		return err
	}
	return s.c.mayRequest(ctx, verb, r)
}

// ModelRounds returns how many times a request has called its model, as far as its
// steps are committed.
func (s *Requests) ModelRounds(ctx context.Context, id fika.RequestID) (int, error) {
	if err := s.mayLook(ctx, "request.rounds", id); err != nil {
		return 0, err
	}
	steps, err := s.c.store.Steps(ctx, id)
	round := 0
	for _, st := range steps {
		round = max(round, st.Round)
	}
	return round, err
}

// Cancel asks a request, and those that it delegated, to end, in the name of the caller.
// reason may say why.
func (s *Requests) Cancel(ctx context.Context, id fika.RequestID, reason string) (fika.Request, error) {
	if err := s.c.may("request.cancel"); err != nil {
		return fika.Request{}, err
	}
	r, err := s.c.store.Cancel(ctx, id, s.c.interruption(reason))
	if err != nil {
		return r, err
	}
	s.wakeStopped(ctx, id)
	_ = s.c.bus.Flush(ctx)
	return r, nil
}

// InterruptedBy begins the reason of what somebody has cancelled; their name follows.
const InterruptedBy = store.InterruptedBy

// interruption is the reason of what the caller cancels: who it was and, if that is given,
// why.
func (c *Service) interruption(why string) string {
	by := store.InterruptedBy + cmp.Or(c.who.Name, "the user")
	if why = strings.Join(strings.Fields(why), " "); why != "" {
		by += ": " + why[:min(len(why), maxWhy)]
	}
	return strings.ToValidUTF8(by, "")
}

// maxWhy bounds the reason that a caller gives, in bytes.
const maxWhy = 300

// wakeStopped wakes the agents of a request that was asked to end, of the running
// requests that it delegated, and of the request that waits for it.
func (s *Requests) wakeStopped(ctx context.Context, id fika.RequestID) {
	f, err := s.Family(ctx, id)
	if err != nil {
		return // the agents also look by themselves
	}
	s.c.waker.Wake(f.AgentName)
	if f.Parent != nil && !f.Parent.State.Terminal() {
		s.c.waker.Wake(f.Parent.AgentName)
	}
	f.walk(func(k Family) {
		if !k.State.Terminal() {
			s.c.waker.Wake(k.AgentName)
		}
	})
}

// Retry makes a new request from one that did not end well, and returns its id. One that
// waits for its model's provider goes on at once, and keeps its id.
func (s *Requests) Retry(ctx context.Context, id fika.RequestID) (fika.RequestID, error) {
	if err := s.c.may("request.retry"); err != nil {
		return "", err
	}
	id, err := once(ctx, s.c, "request.retry", []any{id}, func(to *store.Store) (fika.RequestID, error) {
		if woken, err := to.RetryNow(ctx, id); woken || err != nil {
			return id, err
		}
		r, err := to.Retry(ctx, id)
		return r.ID, err
	}, func(done *store.Repeated) (fika.RequestID, error) {
		return cmp.Or(done.Last(store.RequestEvent).Request, id), nil
	})
	if err != nil {
		return "", err
	}
	if info, err := s.c.store.Request(ctx, id); err == nil {
		s.c.wake(ctx, info.AgentName)
	}
	return id, nil
}
