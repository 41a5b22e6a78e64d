package turn

import (
	"encoding/json"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/tool"
)

// assignment is the claimed request that a turn works, with its observer and its way of
// retrying the store. Every part of the turn has it.
type assignment struct {
	claimed store.Claimed
	fence   store.Fence
	observe func(Event)
	mode    fika.Mode // that bounds the turn, as last read
	retry   storeRetry
	work    Work // the task of the board that it works; nil: none
}

func newAssignment(e *Engine, c store.Claimed) *assignment {
	a := &assignment{claimed: c, fence: c.Fence, observe: e.observeEvent, mode: c.Conversation.Mode, work: e.cfg.Work}
	a.retry = storeRetry{stop: e.cfg.Stop, grace: e.cfg.Grace, now: e.cfg.Now, tell: a.observeEvent}
	return a
}

func (a *assignment) observeEvent(ev Event) {
	ev.Claimed = &a.claimed
	a.observe(ev)
}

// isForeground reports whether a person waits at a terminal; such a request is not
// suspended.
func (a *assignment) isForeground() bool { return a.claimed.Request.Origin == fika.Foreground }

func (a *assignment) inChat() bool { return a.claimed.Conversation.Kind == fika.Chat }

// progress is how far the request has come, in this attempt and earlier ones.
type progress struct {
	round    int          // model calls so far
	own      []fika.Entry // the request's entries, in order
	pending  []fika.Step  // tool steps without a result
	cutStep  int          // the step whose arguments the provider cut off; 0: none
	used     []fika.ToolUsed
	rounds   []round   // one for each model call
	failures []failure // the calls that failed since the last one that did not
	model    string    // of the last call; before any, the first
	usage    fika.Usage
	// cannotCheck is why the last check of its task was refused; empty: it was not.
	cannotCheck string
	lastIn      int64 // input and output tokens of the last call as the provider counted them; 0: unknown
}

// restore takes over what earlier attempts committed since the agent began.
func (p *progress) restore(steps []fika.Step, own []fika.Entry, began time.Time) {
	p.own = own
	for _, s := range steps {
		if s.Kind != fika.FailedStep { // the one that succeeds has the number
			p.round = max(p.round, s.Round)
		}
		if s.Kind != fika.ToolStep {
			continue
		}
		if s.State == fika.StepPlanned || s.State == fika.StepStarted {
			p.pending = append(p.pending, s)
		}
		if s.ArgsHash == cutOff {
			p.cutStep = s.N
		}
	}
	for _, e := range own {
		if e.Type == fika.ToolResult {
			p.used = append(p.used, fika.ToolUsed{Tool: e.From, Success: !e.Meta.IsError})
		}
		if e.Meta.Usage != nil {
			p.usage = p.usage.Add(*e.Meta.Usage)
		}
	}
	p.restoreRounds(steps)
	p.restoreFailures(steps, began)
}

// loadedSkills returns the skills that the turn has loaded, in order.
func (p *progress) loadedSkills() []string {
	var out []string
	calls := map[string]string{} // arguments, by call id
	for _, e := range p.own {
		switch {
		case e.Type == fika.ToolCall && e.To == tool.SkillName:
			calls[e.Meta.ToolCallID] = e.Content
		case e.Type == fika.ToolResult && e.From == tool.SkillName && !e.Meta.IsError:
			var args struct{ Name string }
			if json.Unmarshal([]byte(calls[e.Meta.ToolCallID]), &args) == nil && args.Name != "" {
				out = append(out, args.Name)
			}
		}
	}
	return out
}

// argumentsOf returns the arguments as the model wrote them; empty arguments become {}.
func (p *progress) argumentsOf(s fika.Step) string {
	for i := range p.own {
		if p.own[i].ID == s.CallEntry && p.own[i].Content != "" {
			return p.own[i].Content
		}
	}
	return "{}"
}
