package prompt

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fika"
	"fika/internal/extension/hook"
	"fika/internal/store"
)

// Parts is everything that a system prompt may be made of.
type Parts struct {
	Before       string // injected by pre_system_prompt hooks
	Base         string // the context's own prompt, else the default one
	Agent        fika.AgentName
	Conversation fika.ConversationName // of a chat
	Participants []string              // of a chat
	Username     string
	Colleagues   string // who may be asked; the same from turn to turn
	Standing     string // which of them are busy or stopped
	Skills       string // the skills that the agent may use; the same from turn to turn
	Instructions string // AGENTS.md files, outermost first
	Surroundings string // folder, day, machine, what commands reach
	Continuation string // introduces a summary that replaces history
	Summary      string
	Goals        string
	Todos        string
	Reflection   string
	After        string // injected by post_system_prompt hooks
}

// Section is a titled part of a prompt.
type Section struct {
	Title string `json:"title"`
	Text  string `json:"text,omitempty"` // empty: the section is left out
	// Changing says that what stands in the system text may be out of date: a conversation
	// keeps the text that it began with, and is told at its end what has changed since.
	Changing bool `json:"-"`
	bare     bool // written without its title
}

// Prompt is what a model is told besides the conversation.
type Prompt struct {
	// System stays the same from turn to turn, so that providers can cache what follows it.
	System []Section
	// Summary stands for what was said before the conversation begins; empty: nothing does.
	Summary string
	// State changes while the agent works: goals, todos, colleagues, reflection, text that
	// hooks inject after.
	State []Section
}

// stateLead explains the state to the model, which finds it in the middle of a
// conversation.
const stateLead = "(From the system, not a message: each part holds now and replaces what it said before.)"

// noneNow stands for the text of a section that was told before and is empty now.
const noneNow = "(none now)"

// WholeText returns all of it as one text, as people read it.
func (p Prompt) WholeText() string {
	return joinTexts(p.SystemText(nil), p.Summary, StateText(slices.DeleteFunc(slices.Clone(p.State), isEmpty)))
}

// SystemText returns the system text, with the changing sections as they were when the
// conversation began; nil: as they are now. A section that is empty now is left out: what
// was taken away is not kept.
func (p Prompt) SystemText(began []Section) string {
	var parts []string
	for _, s := range p.System {
		if s.Changing && began != nil && s.Text != "" {
			s.Text = TextOf(began, s.Title)
		}
		parts = append(parts, s.write())
	}
	return joinTexts(parts...)
}

// Changing returns the sections of the system text that may change, empty ones included.
func (p Prompt) Changing() []Section {
	return slices.DeleteFunc(slices.Clone(p.System), func(s Section) bool { return !s.Changing })
}

// StateText tells sections in the middle of a conversation; "" when there are none.
func StateText(sections []Section) string {
	if len(sections) == 0 {
		return ""
	}
	parts := []string{stateLead}
	for _, s := range sections {
		if isEmpty(s) {
			s.Text = noneNow
		}
		s.bare = false
		parts = append(parts, s.write())
	}
	return joinTexts(parts...)
}

// TextOf returns the text of the section with a title; "" if there is none.
func TextOf(sections []Section, title string) string {
	for _, s := range sections {
		if s.Title == title {
			return s.Text
		}
	}
	return ""
}

func isEmpty(s Section) bool { return s.Text == "" }

func (s Section) write() string {
	if s.bare || s.Text == "" {
		return s.Text
	}
	return "--- " + s.Title + " ---\n" + s.Text
}

// joinTexts joins texts that are not empty with a blank line between them.
func joinTexts(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "\n\n")
}

// SummaryText introduces a summary that stands for the beginning of a conversation; ""
// without a summary.
func SummaryText(continuation, summary string) string {
	if strings.TrimSpace(summary) == "" {
		return ""
	}
	return joinTexts(strings.TrimSpace(continuation), "--- CONVERSATION SUMMARY ---\n"+summary)
}

// Assemble writes the parts in their fixed order.
func Assemble(p Parts) Prompt {
	out := Prompt{
		System: []Section{
			{Title: "FROM PLUGINS", Text: p.Before, bare: true},
			{Title: "PROMPT", Text: p.Base, bare: true},
			{Title: "WHO IS WHO", Text: speakerNames(p), bare: true},
			{Title: "IN THIS CHAT", Text: otherSpeakers(p), Changing: true},
			{Title: "COLLEAGUES", Text: p.Colleagues, Changing: true},
			{Title: "SKILLS", Text: p.Skills, Changing: true},
			{Title: "AGENT INSTRUCTIONS", Text: p.Instructions, Changing: true},
			{Title: "WHERE AND WHEN", Text: p.Surroundings, Changing: true, bare: true},
		},
		Summary: SummaryText(p.Continuation, p.Summary),
		State: []Section{
			{Title: "CURRENT GOALS", Text: p.Goals}, {Title: "CURRENT TODOS", Text: p.Todos}, {Title: "COLLEAGUES NOW", Text: p.Standing},
			{Title: "REFLECTION", Text: p.Reflection}, {Title: "FROM PLUGINS NOW", Text: p.After},
		},
	}
	for _, list := range [][]Section{out.System, out.State} {
		for i := range list {
			list[i].Text = strings.TrimSpace(list[i].Text)
		}
	}
	return out
}

// speakerNames says who the agent is, what the person is called, and that others may
// speak.
func speakerNames(p Parts) string {
	if p.Conversation != "" {
		return fmt.Sprintf("You are @%s in the chat %q. Each message begins with its speaker in brackets, and its further lines are set in; do not write that yourself. "+
			"Writing @name hands the conversation to that agent: mention an agent only when you want its answer, once, and never to thank or to agree. "+
			"When nothing is left to do, mention nobody. If you are called and have nothing to add, end with an empty answer: nothing is posted.",
			p.Agent, p.Conversation)
	}
	name := p.Username
	if name == "" {
		name = "user"
	}
	return fmt.Sprintf("You are %q. The user is called %s; messages marked with another name are from others.", p.Agent, name)
}

// otherSpeakers names who takes part in a chat besides the agent.
func otherSpeakers(p Parts) string {
	if p.Conversation == "" {
		return ""
	}
	var out []string
	for _, n := range p.Participants {
		if n != string(p.Agent) {
			out = append(out, "@"+n)
		}
	}
	if len(out) == 0 {
		return "the user"
	}
	return strings.Join(out, ", ")
}

// Source provides the texts of one context. Missing texts are empty.
type Source interface {
	Base() (string, error)
	Skills() (string, error)
	Instructions() (string, error)
	Surroundings() (string, error)
	Continuation() (string, error)
	Summary() (string, error)
	Goals() (string, error)
	Todos() (string, error)
	Reflection() (string, error)
}

// Assembler builds the system prompt of each request of one agent.
type Assembler struct {
	Source   Source
	Hooks    hook.Runner
	Agent    fika.AgentName
	Context  string
	Username string
	// Colleagues is the text about who may be asked. Company returns who takes part in a
	// conversation, and which of the colleagues are not ready now, without saying of those
	// who take part that they are busy; nil: nobody is known.
	Colleagues string
	Company    func(context.Context, fika.ConversationID) (in []string, standing string, err error)
}

// Prompt reads the parts, fires the hooks and assembles the prompt. An error of the
// source is returned as it is; a hook that blocks gives an error of kind Denied.
func (a *Assembler) Prompt(ctx context.Context, c store.Claimed) (Prompt, error) {
	p, err := a.gatherParts(ctx, c)
	if err != nil {
		return Prompt{}, err
	}
	payload := hook.Payload{"context_name": a.Context, "summary": p.Summary, "todos": p.Todos, "goals": p.Goals}
	if p.Before, err = a.injectHooks(ctx, hook.PreSystemPrompt, payload); err != nil {
		return Prompt{}, err
	}
	if p.After, err = a.injectHooks(ctx, hook.PostSystemPrompt, payload); err != nil {
		return Prompt{}, err
	}
	return Assemble(p), nil
}

func (a *Assembler) gatherParts(ctx context.Context, c store.Claimed) (Parts, error) {
	p := Parts{Agent: a.Agent, Username: a.Username, Colleagues: a.Colleagues}
	reads := []struct {
		into *string
		read func() (string, error)
	}{
		{&p.Base, a.Source.Base}, {&p.Skills, a.Source.Skills}, {&p.Instructions, a.Source.Instructions}, {&p.Surroundings, a.Source.Surroundings}, {&p.Goals, a.Source.Goals},
		{&p.Todos, a.Source.Todos}, {&p.Reflection, a.Source.Reflection},
	}
	if c.Conversation.Kind == fika.Ask && c.Conversation.ID == c.Agent.ActiveAsk {
		reads = append(reads, struct {
			into *string
			read func() (string, error)
		}{&p.Summary, a.Source.Summary}, struct {
			into *string
			read func() (string, error)
		}{&p.Continuation, a.Source.Continuation})
	}
	for _, r := range reads {
		text, err := r.read()
		if err != nil {
			return p, err
		}
		*r.into = text
	}
	chat := c.Conversation.Kind == fika.Chat
	if a.Company != nil {
		in, standing, err := a.Company(ctx, c.Conversation.ID)
		if err != nil && chat { // elsewhere a turn can do without
			return p, err
		}
		if p.Standing = standing; chat {
			p.Participants = in
		}
	}
	if chat {
		p.Conversation = c.Conversation.Name
	}
	return p, nil
}

func (a *Assembler) injectHooks(ctx context.Context, at hook.Point, payload hook.Payload) (string, error) {
	out, err := a.Hooks.Fire(ctx, at, maps.Clone(payload)) // one point must not see what the other injects
	if err != nil {
		return "", err
	}
	text, _ := out["inject"].(string)
	return text, nil
}
