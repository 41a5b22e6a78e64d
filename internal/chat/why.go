package chat

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/chat/mention"
	"fika/internal/store"
)

// Verdict says in one word what came of a message for an agent.
type Verdict string

// The verdicts.
const (
	Answered Verdict = "answered" // a turn has answered it
	// SaidNothing: a turn has read it, and the agent had nothing to say.
	SaidNothing Verdict = "silent"

	AtWork    Verdict = "running"   // a turn is working it
	Waits     Verdict = "waiting"   // a turn will reach it, or continues later
	IsDropped Verdict = "dropped"   // it will not be worked
	IsDead    Verdict = "dead"      // its turn failed but can be retried
	NoMessage Verdict = "none"      // the entry is not a message
	Itself    Verdict = "self"      // the agent wrote it itself
	Midway    Verdict = "not_final" // written in the middle of a turn
	Hidden    Verdict = "hidden"    // the name stands where it is no mention
	Misspelt  Verdict = "unknown"   // it has a similar name that belongs to nobody
	NotMeant  Verdict = "not_mentioned"
	Unseen    Verdict = "unseen" // it names the agent, but did not when it was stored
)

// Why explains what an entry of a chat caused for one agent, and the reason.
type Why struct {
	Chat    fika.ConversationName
	Seq     int64
	Agent   fika.AgentName
	Verdict Verdict
	Lines   []api.Status   // the same in full, in the order in which it reads
	Request fika.RequestID // the request that covers it; empty: none
	Answer  int64          // seq of the answer; 0: none
}

func (w *Why) add(code api.Code, args ...string) {
	w.Lines = append(w.Lines, api.Stands(code, args...))
}

// addFor adds what something waits for, or what became of it.
func (w *Why) addFor(code api.Code, parts []api.Status, args ...string) {
	w.Lines = append(w.Lines, api.Stands(code, args...).With(parts...))
}

// WhyStore is the part of the store that [ExplainEntry] needs.
type WhyStore interface {
	Notifications(context.Context, store.NotificationFilter) ([]store.NotificationInfo, error)
	EntryBySeq(context.Context, fika.ConversationID, int64) (fika.Entry, error)
	EntryByID(context.Context, fika.ConversationID, fika.EntryID) (fika.Entry, error)
	Request(context.Context, fika.RequestID) (store.RequestInfo, error)
	ListAgents(context.Context) ([]fika.Agent, error)
	Participants(context.Context, fika.ConversationID) ([]string, error)
	Chain(context.Context, fika.RequestID) (fika.Chain, error)
}

// ExplainEntry explains why an entry, given by seq or id, did or did not start a turn
// of an agent. queue returns the chat's present queue. ExplainEntry fails with
// NotFound if there is no such entry.
func ExplainEntry(ctx context.Context, s WhyStore, conv fika.Conversation, word string, a fika.Agent, queue func(context.Context) ([]Item, error)) (Why, error) {
	x := explainer{WhyStore: s, conv: conv, agent: a, queue: queue, why: Why{Chat: conv.Name, Agent: a.Name}}
	err := x.findEntry(ctx, word)
	if err != nil {
		return x.why, err
	}
	if a.IsPool() {
		if err := x.findMember(ctx); err != nil {
			return x.why, err
		}
	}
	notes, err := s.Notifications(ctx, store.NotificationFilter{Conversation: conv.ID, Seq: x.why.Seq, Agent: x.agent.ID})
	if err != nil {
		return x.why, err
	}
	if x.entry == nil && len(notes) == 0 {
		return x.why, fika.Errorf(fika.NotFound, "", "no entry %q in %q", word, conv.Name)
	}
	x.introduceEntry()
	if len(notes) > 0 {
		return x.why, x.explainNotified(ctx, notes[0])
	}
	return x.why, x.passedBy(ctx)
}

type explainer struct {
	WhyStore
	conv  fika.Conversation
	agent fika.Agent
	queue func(context.Context) ([]Item, error)
	pool  fika.AgentName // the pool that was mentioned, if agent is the member that was notified
	entry *fika.Entry    // nil: it has been removed
	why   Why
}

func (x *explainer) name() string { return string(x.agent.Name) }

// findMember finds the member of a pool that was notified of the entry.
func (x *explainer) findMember(ctx context.Context) error {
	agents, err := x.ListAgents(ctx)
	if err != nil {
		return err
	}
	notes, err := x.Notifications(ctx, store.NotificationFilter{Conversation: x.conv.ID, Seq: x.why.Seq})
	if err != nil {
		return err
	}
	for _, n := range notes {
		i := slices.IndexFunc(agents, func(a fika.Agent) bool { return a.ID == n.Agent && a.Pool == x.agent.ID })
		if i >= 0 {
			x.pool, x.agent, x.why.Agent = x.agent.Name, agents[i], agents[i].Name
			return nil
		}
	}
	return nil
}

// findEntry reads the entry. An entry that has been cleaned up may still be known by
// what it caused.
func (x *explainer) findEntry(ctx context.Context, word string) error {
	seq, err := strconv.ParseInt(strings.TrimPrefix(word, "#"), 10, 64)
	var e fika.Entry
	if err == nil {
		x.why.Seq = seq
		e, err = x.EntryBySeq(ctx, x.conv.ID, seq)
		if fika.IsKind(err, fika.NotFound) {
			return nil
		}
	} else {
		e, err = x.EntryByID(ctx, x.conv.ID, fika.EntryID(word))
		if fika.IsKind(err, fika.NotFound) {
			return fika.Errorf(fika.NotFound, "", "no entry %q in %q", word, x.conv.Name)
		}
	}
	if err != nil {
		return err
	}
	x.entry, x.why.Seq = &e, e.Seq
	return nil
}

// introduceEntry says what the entry is.
func (x *explainer) introduceEntry() {
	seq := strconv.FormatInt(x.why.Seq, 10)
	if x.entry == nil {
		x.why.add(api.WhyExpired, "seq", seq)
		return
	}
	e, at := x.entry, stampOf(x.entry.At)
	switch {
	case e.Type == fika.Notice:
		x.why.add(api.WhyNotice, "seq", seq, "time", at)
	case e.Type == fika.Message && e.Meta.Writer == fika.ByAgent:
		x.why.add(api.WhyAgentWrote, "seq", seq, "time", at, "agent", writerOf(*e))
	case e.Type == fika.Message && e.Meta.Writer == fika.ByHuman:
		x.why.add(api.WhyPersonWrote, "seq", seq, "time", at, "from", e.From)
	default:
		x.why.add(api.WhyEntry, "seq", seq, "time", at, "type", strings.ReplaceAll(string(e.Type), "_", " "), "from", e.From)
	}
}

func stampOf(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func writerOf(e fika.Entry) string {
	if e.Meta.WriterName != "" {
		return e.Meta.WriterName
	}
	return e.From
}

// explainNotified says what came of a notification.
func (x *explainer) explainNotified(ctx context.Context, n store.NotificationInfo) error {
	x.why.Request = n.Request
	switch {
	case x.entry == nil:
	case x.pool != "":
		x.why.add(api.WhyMentionsPool, "pool", string(x.pool), "agent", x.name())
	default:
		x.why.add(api.WhyMentions, "agent", x.name())
	}
	var r store.RequestInfo
	var err error
	if n.Request != "" {
		if r, err = x.Request(ctx, n.Request); err != nil && !fika.IsKind(err, fika.NotFound) {
			return err
		}
	}
	switch n.State {
	case fika.NotificationPending:
		return x.explainPending(ctx)
	case fika.NotificationClaimed:
		return x.explainClaimed(ctx, r)
	case fika.NotificationDone:
		x.explainDone(r)
		return x.nameTogether(ctx, r)
	case fika.NotificationDead:
		x.explainDead(r)
		return x.nameTogether(ctx, r)
	}
	return x.explainDropped(ctx, n, r)
}

// inQueue returns the item of the queue that concerns the message.
func (x *explainer) inQueue(ctx context.Context) (Item, bool, error) {
	items, err := x.queue(ctx)
	for _, i := range items {
		if i.Agent == x.agent.Name && !i.IsOver() && slices.Contains(i.Seqs, x.why.Seq) {
			return i, true, err
		}
	}
	return Item{}, false, err
}

func (x *explainer) explainPending(ctx context.Context) error {
	x.why.Verdict = Waits
	i, found, err := x.inQueue(ctx)
	if err != nil || !found {
		x.why.add(api.WhyBegun, "agent", x.name())
		return err
	}
	x.why.addFor(api.WhyWaiting, i.Standing())
	return nil
}

func (x *explainer) explainClaimed(ctx context.Context, r store.RequestInfo) error {
	x.why.Verdict = AtWork
	i, found, err := x.inQueue(ctx)
	if err != nil {
		return err
	}
	switch {
	case !found:
		x.why.add(api.WhyJustEnded, "agent", x.name(), "request", string(r.ID))
	case i.Place == PlaceRunning:
		x.why.addFor(api.WhyRunning, i.Standing(), "agent", x.name(), "request", string(r.ID), "time", stampOf(i.Since))
	default:
		x.why.Verdict = Waits
		x.why.addFor(api.WhyCovered, i.Standing(), "agent", x.name(), "request", string(r.ID))
	}
	if r.RetryOf != "" {
		x.why.add(api.WhyRetried, "request", string(r.RetryOf))
	}
	return x.nameTogether(ctx, r)
}

func (x *explainer) explainDone(r store.RequestInfo) {
	x.why.Verdict, x.why.Answer = Answered, r.Outcome.Seq
	took := stampOf(r.FinishedAt)
	switch {
	case r.Outcome.Seq > 0:
		x.why.add(api.WhyAnswered, "agent", x.name(), "answer", strconv.FormatInt(r.Outcome.Seq, 10), "request", string(r.ID), "time", took)
	case r.ID == "":
		x.why.add(api.WhyDone, "agent", x.name())
	default:
		if r.Outcome.Stop == fika.Silent {
			x.why.Verdict = SaidNothing
		}
		x.why.add(api.WhySilent, "agent", x.name(), "request", string(r.ID), "state", string(r.State), "time", took)
	}
}

func (x *explainer) explainDead(r store.RequestInfo) {
	x.why.Verdict = IsDead
	why := r.Outcome.Error
	if why == "" {
		why = r.Reason
	}
	x.why.add(api.WhyFailed, "agent", x.name(), "request", string(r.ID), "state", string(r.State), "time", stampOf(r.FinishedAt), "reason", strings.TrimRight(why, "."))
	x.why.add(api.WhyRetry, "chat", string(x.conv.Name), "agent", x.name())
}

// nameTogether names the other messages of the same turn.
func (x *explainer) nameTogether(ctx context.Context, r store.RequestInfo) error {
	if r.ID == "" {
		return nil
	}
	all, err := x.Notifications(ctx, store.NotificationFilter{Request: r.ID})
	if err != nil {
		return err
	}
	var others []string
	for _, n := range all {
		if n.Seq != x.why.Seq && n.Conversation == x.conv.ID {
			others = append(others, fmt.Sprintf("#%d", n.Seq))
		}
	}
	if len(others) > 0 {
		x.why.add(api.WhyTogether, "list", strings.Join(others, ", "))
	}
	return nil
}

func (x *explainer) explainDropped(ctx context.Context, n store.NotificationInfo, r store.RequestInfo) error {
	x.why.Verdict = IsDropped
	x.why.addFor(api.WhyDropped, []api.Status{DroppedFor(n.Reason, x.conv.Name)})
	if n.Reason == string(fika.Cancelled) && r.ID != "" {
		x.why.add(api.WhyCancelled, "request", string(r.ID), "reason", r.Reason)
	}
	if n.Reason != "limit" {
		return nil
	}
	c, err := x.Chain(ctx, n.Chain)
	if fika.IsKind(err, fika.NotFound) {
		return nil
	}
	if err == nil {
		x.why.add(api.WhyChain, "time", stampOf(c.StartedAt), "turns", strconv.Itoa(c.Turns), "tokens", strconv.FormatInt(c.Tokens, 10),
			"limit", cmp.Or(c.LimitHit, "unknown"), "depth", strconv.Itoa(n.Depth))
	}
	return err
}

// passedBy says why there is no notification.
func (x *explainer) passedBy(ctx context.Context) error {
	e, w := x.entry, &x.why
	if e.Type != fika.Message {
		w.Verdict = NoMessage
		w.add(api.WhyNoMessage)
		return nil
	}
	agents, err := x.ListAgents(ctx)
	if err != nil {
		return err
	}
	in, err := x.Participants(ctx, x.conv.ID)
	if err != nil {
		return err
	}
	places := mention.New().FindPlaces(e.Content, mention.Known{Agents: agentNames(agents), Human: "user", People: PeopleAmong(in, agents)})
	byAgent := e.Meta.Writer == fika.ByAgent
	for _, p := range places {
		if p.Agent == x.agent.Name && p.Hidden == "" {
			x.explainNoNotification(byAgent)
			return nil
		}
	}
	switch {
	case x.explainHidden(places):
	case x.explainMisspelt(places, byAgent):
	case x.explainAllMention(places, byAgent, slices.Contains(in, string(x.agent.Name))):
	default:
		w.Verdict = NotMeant
		agents, person := mentionedInstead(places)
		w.add(api.WhyNotMentioned, "agent", x.name(), "list", strings.Join(agents, ", "), "person", person)
	}
	w.add(api.WhyUnmentioned, "agent", x.name())
	return nil
}

// explainNoNotification says why a mention caused no notification.
func (x *explainer) explainNoNotification(byAgent bool) {
	e, w := x.entry, &x.why
	switch {
	case byAgent && strings.EqualFold(writerOf(*e), string(x.agent.Name)):
		w.Verdict = Itself
		w.add(api.WhyOwn, "agent", x.name())
	case byAgent && !e.Meta.Final:
		w.Verdict = Midway
		w.add(api.WhyMidway, "agent", x.name(), "request", string(e.Request))
	case x.agent.CreatedAt.After(e.At):
		w.Verdict = Unseen
		w.add(api.WhyYounger, "agent", x.name(), "time", stampOf(x.agent.CreatedAt))
	default:
		w.Verdict = Unseen
		w.add(api.WhyImported, "agent", x.name())
	}
}

func (x *explainer) explainAllMention(places []mention.Place, byAgent, takesPart bool) bool {
	if !slices.ContainsFunc(places, func(p mention.Place) bool { return p.All && p.Hidden == "" }) {
		return false
	}
	x.why.Verdict = NotMeant
	switch {
	case byAgent:
		x.why.add(api.WhyAllByAgent)
	case takesPart:
		x.why.add(api.WhyAllLater, "agent", x.name())
	default:
		x.why.add(api.WhyAllOthers, "agent", x.name())
	}
	return true
}

func (x *explainer) explainHidden(places []mention.Place) bool {
	for _, p := range places {
		if p.Agent != x.agent.Name {
			continue
		}
		x.why.Verdict = Hidden
		x.why.add(api.WhyHidden, "name", p.Name, "where", string(p.Hidden))
		return true
	}
	return false
}

// explainMisspelt looks for a name that nobody has but that is spelled almost like
// the agent's.
func (x *explainer) explainMisspelt(places []mention.Place, byAgent bool) bool {
	for _, p := range places {
		if p.Hidden != "" || !slices.Contains(p.Near, x.agent.Name) {
			continue
		}
		x.why.Verdict = Misspelt
		x.why.add(api.WhyMisspelt, "name", p.Name, "agent", x.name())
		if byAgent {
			x.why.add(api.WhyNotWarned)
		}
		return true
	}
	return false
}

// mentionedInstead returns the agents that a text mentions instead, and the first person.
func mentionedInstead(places []mention.Place) (agents []string, person string) {
	for _, p := range places {
		switch name := "@" + p.Name; {
		case p.Hidden != "" || slices.Contains(agents, name):
		case p.Agent != "":
			agents = append(agents, name)
		case p.Person && person == "":
			person = name
		}
	}
	return agents, person
}

// PeopleAmong returns the participants that are not agents.
func PeopleAmong(in []string, agents []fika.Agent) []string {
	return slices.DeleteFunc(slices.Clone(in), func(n string) bool {
		return slices.ContainsFunc(agents, func(a fika.Agent) bool { return string(a.Name) == n })
	})
}
