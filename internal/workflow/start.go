package workflow

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"fika"
)

// outer makes the first row of a step.
func (e *engine) outer(scope *Row, s *Step, first string) {
	r := e.newStepRow(scope, s, Running)
	r.First = first
	if s.ForEach == "" {
		e.place(r, s)
		return
	}
	r.Kind = KindEach
	e.add(r)
	list, err := e.list(r, s)
	switch {
	case e.err != nil:
	case err != nil:
		e.end(r, Failed, ReasonItems, err.Error())
	case len(list) == 0:
		e.end(r, Done, "", "")
	default:
		if wrong := e.wrongAgents(r, s, list); wrong != "" {
			e.end(r, Failed, string(fika.NotFound), wrong)
			return
		}
	}
	r.Count = len(list)
}

// inner makes the row of an item.
func (e *engine) inner(parent *Row, index int, path string, s *Step) {
	e.place(&Row{Path: path, Parent: parent.ID, Step: s.ID, Index: index, Attempt: 1, State: Running, First: parent.First}, s)
}

// place adds either a row that repeats a step, or one that does it once.
func (e *engine) place(r *Row, s *Step) {
	if s.Repeat == nil {
		e.placeUnit(r, s)
		return
	}
	r.Kind = KindRepeat
	e.add(r)
}

// unit makes a row that does a step once.
func (e *engine) unit(parent *Row, index int, path string, s *Step, attempt int) {
	e.placeUnit(&Row{Path: path, Parent: parent.ID, Step: s.ID, Index: index, Attempt: attempt, State: Running, First: parent.First}, s)
}

func (e *engine) placeUnit(r *Row, s *Step) {
	r.Kind = s.Kind()
	e.add(r)
	e.begin(r)
}

// ask puts a row's question to a person. For a step without other work, the answer is
// everything.
func (e *engine) ask(r *Row, s *Step) {
	text, sources, ok := e.render(r, s.code.prompt)
	if !ok {
		return
	}
	r.State = Asking
	e.out.Calls = append(e.out.Calls, Call{Row: r.ID, Kind: KindApproval, Prompt: text, Choice: s.Choice, Answer: s.Answer, Deadline: r.Deadline, Sources: sources})
}

// retry makes the next attempt at a failed row. It does not ask again about work that
// a person has approved.
func (e *engine) retry(r *Row, s *Step) {
	next := *r
	next.Attempt, next.State, next.Reason, next.Error = r.Attempt+1, Waiting, "", ""
	next.NotBefore, next.Deadline, next.Taken, next.From = e.Now.Add(pauseBefore(s, r.Attempt+1-r.Before)), zeroTime(), false, ""
	e.retire(r)
	e.add(&next)
}

// pauseBefore returns how long an attempt waits; the first attempt does not.
func pauseBefore(s *Step, attempt int) time.Duration {
	if attempt < 2 {
		return 0
	}
	pause := s.Retry.Backoff
	for range attempt - 2 {
		pause = min(2*pause, maxBackoff)
	}
	return pause
}

// holdToClock keeps a row from waiting longer than its step says, even if the clock
// was put back in the meantime.
func (e *engine) holdToClock(r *Row) {
	s := e.stepOf(r)
	if latest := e.Now.Add(pauseBefore(s, r.Attempt-r.Before)); r.State == Waiting && r.NotBefore.After(latest) {
		r.NotBefore = latest
		e.touch(r)
	}
	if latest := e.Now.Add(s.Timeout); s.Timeout > 0 && r.Deadline.After(latest) {
		r.Deadline = latest
		e.touch(r)
	}
}

func (e *engine) setDeadline(r *Row, s *Step) {
	if s.Timeout > 0 {
		r.Deadline = e.Now.Add(s.Timeout)
	}
}

// begin starts the work of a row: a request, a discussion, a workflow.
func (e *engine) begin(r *Row) {
	s := e.stepOf(r)
	r.State, r.NotBefore = Running, zeroTime()
	e.touch(r)
	if r.Kind == KindRepeat {
		return // its rounds follow
	}
	e.setDeadline(r, s)
	switch {
	case r.Kind == KindApproval, s.Approve && !r.Approved:
		e.ask(r, s)
	case r.Kind == KindWorkflow:
		e.beginWorkflow(r, s)
	case r.Kind == KindChat:
		e.beginChat(r, s)
	case r.Kind == KindPost:
		e.beginPost(r, s)
	default:
		e.beginAgent(r, s)
	}
}

func (e *engine) beginAgent(r *Row, s *Step) {
	text, sources, ok := e.render(r, s.code.prompt)
	if !ok {
		return
	}
	c := Call{Row: r.ID, Kind: KindAgent, Capability: s.Capability, Prompt: text, JSON: s.Output == OutputJSON, Schema: s.Schema, Deadline: r.Deadline, Sources: sources, Within: e.within(r)}
	names, from, ok := e.agentNames(r, s)
	if !ok {
		return
	}
	if len(names) > 0 {
		c.Agent, c.Sources = names[0], append(c.Sources, from...)
	}
	e.out.Calls = append(e.out.Calls, c)
}

func (e *engine) beginChat(r *Row, s *Step) {
	topic, sources, ok := e.render(r, s.code.topic)
	if !ok {
		return
	}
	names, from, ok := e.agentNames(r, s)
	if !ok {
		return
	}
	c := &ChatCall{Agents: names, Until: s.Chat.Until, Max: s.Chat.Max}
	e.out.Calls = append(e.out.Calls, Call{Row: r.ID, Kind: KindChat, Prompt: topic, Chat: c, Deadline: r.Deadline, Sources: append(sources, from...)})
}

// beginPost posts the prompt in a chat. Storing the plan is the end of the step.
func (e *engine) beginPost(r *Row, s *Step) {
	text, sources, ok := e.render(r, s.code.prompt)
	if !ok {
		return
	}
	chat, from, ok := e.render(r, s.code.post)
	if !ok {
		return
	}
	name, err := fika.ParseConversationName(strings.TrimSpace(chat))
	if err != nil {
		e.end(r, Failed, ReasonPrompt, "post: "+err.Error())
		return
	}
	e.out.Calls = append(e.out.Calls, Call{Row: r.ID, Kind: KindPost, Prompt: text, Post: name, Sources: append(sources, from...)})
}

// beginWorkflow binds the inputs of the nested workflow; its steps follow.
func (e *engine) beginWorkflow(r *Row, s *Step) {
	given := map[string]string{}
	for name, t := range s.code.inputs {
		text, _, ok := e.render(r, t)
		if !ok {
			return
		}
		given[name] = text
	}
	bound, err := e.inside(r).Bind(given, nil)
	if err == nil {
		r.Inputs, err = json.Marshal(bound)
	}
	if err != nil {
		e.end(r, Failed, ReasonPrompt, err.Error())
	}
}

// render fills in a text of a row. ok is false if the row has failed, or if the text
// cannot be made for want of an output.
func (e *engine) render(r *Row, t *template) (text string, sources []string, ok bool) {
	if t == nil {
		return "", nil, true
	}
	data, sources, err := e.data(r, t.refs)
	if e.err != nil {
		return "", nil, false
	}
	if err == nil {
		text, err = t.render(data)
	}
	if err == nil && strings.TrimSpace(text) == "" && r.Kind != KindWorkflow && t != e.stepOf(r).code.post {
		err = fmt.Errorf("the prompt is empty")
	}
	if err != nil {
		e.end(r, Failed, ReasonPrompt, err.Error())
		return "", nil, false
	}
	return text, sources, true
}
