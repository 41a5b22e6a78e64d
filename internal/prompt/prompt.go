package prompt

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"fika"
	"fika/internal/hook"
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
	Instructions string // AGENTS.md files, outermost first
	Continuation string // introduces a summary that replaces history
	Summary      string
	Goals        string
	Todos        string
	Reflection   string
	After        string // injected by post_system_prompt hooks
}

// Prompt is what a model is told besides the conversation.
type Prompt struct {
	System string // stays the same from turn to turn, so that providers can cache what follows it
	State  string // changes while the agent works: goals, todos, colleagues, reflection, text that hooks inject after
}

// stateLead explains the state to the model, which finds it in the middle of a
// conversation.
const stateLead = "(From the system, not a message: this holds now and replaces what it said before.)"

// WholeText returns all of it as one text, as people read it.
func (p Prompt) WholeText() string {
	return strings.TrimSpace(p.System + "\n\n" + p.State)
}

// Assemble writes the parts in their fixed order.
func Assemble(p Parts) Prompt {
	var system, state sections
	system.addSection("", p.Before)
	system.addSection("", p.Base)
	system.addSection("", speakerNames(p))
	system.addSection("", p.Colleagues)
	system.addSection("AGENT INSTRUCTIONS", p.Instructions)
	if strings.TrimSpace(p.Summary) != "" {
		system.addSection("CONVERSATION SUMMARY", strings.TrimSpace(p.Continuation+"\n\n"+p.Summary))
	}
	state.addSection("CURRENT GOALS", p.Goals)
	state.addSection("CURRENT TODOS", p.Todos)
	state.addSection("COLLEAGUES NOW", p.Standing)
	state.addSection("REFLECTION", p.Reflection)
	state.addSection("", p.After)
	if state.Len() == 0 {
		return Prompt{System: system.String()}
	}
	return Prompt{system.String(), stateLead + "\n\n" + state.String()}
}

// sections is a text of titled parts. Blank parts leave no trace.
type sections struct{ strings.Builder }

func (s *sections) addSection(title, text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	if s.Len() > 0 {
		s.WriteString("\n\n")
	}
	if title != "" {
		s.WriteString("--- " + title + " ---\n")
	}
	s.WriteString(text)
}

// speakerNames says who the agent is, what the person is called, and that others may
// speak.
func speakerNames(p Parts) string {
	if p.Conversation != "" {
		return fmt.Sprintf("You are @%s in the chat %q with %s. Each message begins with its speaker in brackets, and its further lines are set in; do not write that yourself. "+
			"Writing @name hands the conversation to that agent: mention an agent only when you want its answer, once, and never to thank or to agree. "+
			"When nothing is left to do, mention nobody.",
			p.Agent, p.Conversation, strings.Join(otherSpeakers(p), ", "))
	}
	name := p.Username
	if name == "" {
		name = "user"
	}
	return fmt.Sprintf("You are %q. The user is called %s; messages marked with another name are from other speakers.", p.Agent, name)
}

func otherSpeakers(p Parts) []string {
	var out []string
	for _, n := range p.Participants {
		if n != string(p.Agent) {
			out = append(out, "@"+n)
		}
	}
	if len(out) == 0 {
		out = append(out, "the user")
	}
	return out
}

// Source provides the texts of one context. Missing texts are empty.
type Source interface {
	Base() (string, error)
	Instructions() (string, error)
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
	// Participants lists who takes part in a chat; nil: nobody is known.
	Participants func(context.Context, fika.Conversation) ([]string, error)
	// Colleagues is the text about who may be asked. Standing returns which of them are
	// not ready now; nil: it is left out.
	Colleagues string
	Standing   func(context.Context) string
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

// System returns the system text and state in the form that a turn asks for; see
// [Assembler.Prompt].
func (a *Assembler) System(ctx context.Context, c store.Claimed) (system, state string, err error) {
	p, err := a.Prompt(ctx, c)
	return p.System, p.State, err
}

func (a *Assembler) gatherParts(ctx context.Context, c store.Claimed) (Parts, error) {
	p := Parts{Agent: a.Agent, Username: a.Username, Colleagues: a.Colleagues}
	if a.Standing != nil {
		p.Standing = a.Standing(ctx)
	}
	reads := []struct {
		into *string
		read func() (string, error)
	}{
		{&p.Base, a.Source.Base}, {&p.Instructions, a.Source.Instructions}, {&p.Goals, a.Source.Goals},
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
	if c.Conversation.Kind == fika.Chat {
		p.Conversation = c.Conversation.Name
		if a.Participants != nil {
			names, err := a.Participants(ctx, c.Conversation)
			if err != nil {
				return p, err
			}
			p.Participants = names
		}
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
