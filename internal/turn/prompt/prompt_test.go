package prompt_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fika"
	"fika/internal/extension/hook"
	"fika/internal/store"
	"fika/internal/turn/prompt"
)

func TestAssemble(t *testing.T) {
	all := prompt.Parts{
		Before: "BEFORE", Base: "BASE", Agent: "arya", Username: "ann", Skills: "SKILLS", Instructions: "INSTRUCTIONS", Surroundings: "SURROUNDINGS", Continuation: "CONTINUATION",
		Summary: "SUMMARY", Goals: "GOALS", Todos: "TODOS", Reflection: "REFLECTION", After: "AFTER",
	}
	const want = `BEFORE

BASE

You are "arya". The user is called ann; messages marked with another name are from others.

--- SKILLS ---
SKILLS

--- AGENT INSTRUCTIONS ---
INSTRUCTIONS

SURROUNDINGS

CONTINUATION

--- CONVERSATION SUMMARY ---
SUMMARY

(From the system, not a message: each part holds now and replaces what it said before.)

--- CURRENT GOALS ---
GOALS

--- CURRENT TODOS ---
TODOS

--- REFLECTION ---
REFLECTION

--- FROM PLUGINS NOW ---
AFTER`
	if d := cmp.Diff(want, prompt.Assemble(all).WholeText()); d != "" {
		t.Error(d)
	}
}

// TestAssembleEmpty: what is empty leaves no trace, blank texts included.
func TestAssembleEmpty(t *testing.T) {
	p := prompt.Parts{Agent: "arya", Continuation: "never alone"}
	for _, blank := range []string{"", " \n\t"} {
		p.Before, p.Base, p.Skills, p.Instructions, p.Summary = blank, blank, blank, blank, blank
		p.Goals, p.Todos, p.Reflection, p.After = blank, blank, blank, blank
		want := `You are "arya". The user is called user; messages marked with another name are from others.`
		if d := cmp.Diff(want, prompt.Assemble(p).WholeText()); d != "" {
			t.Errorf("%q: %s", blank, d)
		}
	}
}

func TestAssembleChat(t *testing.T) {
	p := prompt.Parts{Agent: "arya", Conversation: "tale", Participants: []string{"ann", "arya", "gendry"}}
	if got := prompt.Assemble(p).WholeText(); !strings.HasPrefix(got, `You are @arya in the chat "tale". `) || !strings.HasSuffix(got, "\n\n--- IN THIS CHAT ---\n@ann, @gendry") {
		t.Error(got)
	}
	p.Participants = []string{"arya"}
	if got := prompt.Assemble(p).WholeText(); !strings.HasPrefix(got, `You are @arya in the chat "tale". `) || !strings.HasSuffix(got, "\nthe user") {
		t.Error(got)
	}
}

// TestSystemTextStays: the system text of a conversation keeps what may change as it was
// when the conversation began, and sections are told alone.
func TestSystemTextStays(t *testing.T) {
	before := prompt.Assemble(prompt.Parts{Base: "BASE", Agent: "arya", Colleagues: "@bob", Instructions: "INSTRUCTIONS"})
	now := prompt.Assemble(prompt.Parts{Base: "BASE", Agent: "arya", Colleagues: "@bob\n@cleo", Instructions: "OTHERS"})
	if d := cmp.Diff(before.SystemText(nil), now.SystemText(before.Changing())); d != "" {
		t.Error(d)
	}
	now = prompt.Assemble(prompt.Parts{Base: "BASE", Agent: "arya", Colleagues: "@bob\n@cleo"})
	if text := now.SystemText(before.Changing()); strings.Contains(text, "INSTRUCTIONS") {
		t.Errorf("what was taken away is kept: %s", text)
	}
	if d := cmp.Diff("BASE\n\nYou are \"arya\". The user is called user; messages marked with another name are from others.\n\n--- COLLEAGUES ---\n@bob\n@cleo", now.SystemText(nil)); d != "" {
		t.Error(d)
	}
	got := prompt.StateText([]prompt.Section{{Title: "COLLEAGUES", Text: "@bob\n@cleo"}, {Title: "AGENT INSTRUCTIONS"}})
	if want := "(From the system, not a message: each part holds now and replaces what it said before.)\n\n--- COLLEAGUES ---\n@bob\n@cleo\n\n--- AGENT INSTRUCTIONS ---\n(none now)"; got != want || prompt.StateText(nil) != "" {
		t.Errorf("got %q", got)
	}
}

// texts is a source whose every text is its name, or an error.
type texts map[string]error

func (s texts) text(name string) (string, error) { return name, s[name] }
func (s texts) Base() (string, error)            { return s.text("BASE") }
func (s texts) Skills() (string, error)          { return s.text("SKILLS") }
func (s texts) Instructions() (string, error)    { return s.text("INSTRUCTIONS") }
func (s texts) Surroundings() (string, error)    { return s.text("SURROUNDINGS") }
func (s texts) Continuation() (string, error)    { return s.text("CONTINUATION") }
func (s texts) Summary() (string, error)         { return s.text("SUMMARY") }
func (s texts) Goals() (string, error)           { return s.text("GOALS") }
func (s texts) Todos() (string, error)           { return s.text("TODOS") }
func (s texts) Reflection() (string, error)      { return s.text("REFLECTION") }

// injector is a runner that injects the point's name, in the payload it got.
type injector map[hook.Point]error

func (i injector) Fire(_ context.Context, at hook.Point, p hook.Payload) (hook.Payload, error) {
	if before, is := p["inject"].(string); is {
		p["inject"] = before + string(at)
	} else {
		p["inject"] = string(at)
	}
	return p, i[at]
}

func claimed(kind fika.ConversationKind) store.Claimed {
	return store.Claimed{Conversation: fika.Conversation{Name: "tale", Kind: kind}}
}

func TestSystem(t *testing.T) {
	a := prompt.Assembler{Source: texts{}, Hooks: injector{}, Agent: "arya", Context: "arya", Username: "ann",
		Company: func(context.Context, fika.ConversationID) ([]string, string, error) {
			return []string{"ann", "arya"}, "", nil
		}}
	for kind, tt := range map[fika.ConversationKind]struct{ has, lacks []string }{
		fika.Ask:  {[]string{"BASE", "SUMMARY", "CONTINUATION", "TODOS", "called ann"}, []string{"in the chat"}},
		fika.Task: {[]string{"BASE", "TODOS", "called ann"}, []string{"SUMMARY", "CONTINUATION"}},
		fika.Chat: {[]string{"BASE", "TODOS", `in the chat "tale".`, "IN THIS CHAT ---\n@ann\n"}, []string{"SUMMARY", "CONTINUATION"}},
	} {
		p, err := a.Prompt(t.Context(), claimed(kind))
		got := p.WholeText()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range tt.has {
			if !strings.Contains(got, s) {
				t.Errorf("%s: no %q in %q", kind, s, got)
			}
		}
		for _, s := range tt.lacks {
			if strings.Contains(got, s) {
				t.Errorf("%s: %q in %q", kind, s, got)
			}
		}
		if !strings.HasPrefix(got, "pre_system_prompt\n\nBASE") || !strings.HasSuffix(got, "REFLECTION\n\n--- FROM PLUGINS NOW ---\npost_system_prompt") {
			t.Errorf("%s: injections are misplaced in %q", kind, got)
		}
	}
}

// TestSystemFails: any text that cannot be read, and any hook that forbids,
// ends the building with that error.
func TestSystemFails(t *testing.T) {
	broken := fika.Errorf(fika.Storage, "read", "broken")
	for _, name := range []string{"BASE", "SKILLS", "INSTRUCTIONS", "SURROUNDINGS", "CONTINUATION", "SUMMARY", "GOALS", "TODOS", "REFLECTION"} {
		a := prompt.Assembler{Source: texts{name: broken}, Hooks: hook.None{}, Agent: "arya"}
		if _, err := a.Prompt(t.Context(), claimed(fika.Ask)); !errors.Is(err, broken) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	denied := fika.Errorf(fika.Denied, "hook", "no")
	for _, at := range []hook.Point{hook.PreSystemPrompt, hook.PostSystemPrompt} {
		a := prompt.Assembler{Source: texts{}, Hooks: injector{at: denied}, Agent: "arya"}
		if _, err := a.Prompt(t.Context(), claimed(fika.Ask)); !fika.IsKind(err, fika.Denied) {
			t.Errorf("%s: error %v", at, err)
		}
	}
	a := prompt.Assembler{Source: texts{}, Hooks: hook.None{}, Agent: "arya",
		Company: func(context.Context, fika.ConversationID) ([]string, string, error) { return nil, "", broken }}
	if _, err := a.Prompt(t.Context(), claimed(fika.Chat)); !errors.Is(err, broken) {
		t.Errorf("participants: error %v", err)
	}
}
