package session

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/input"
	"fika/internal/cli/screen"
	"fika/internal/system/term"
)

// modeShown is the mode of the chat, as last seen. It is safe for concurrent use.
type modeShown struct {
	mu   sync.Mutex
	mode fika.Mode
}

func (m *modeShown) set(mode fika.Mode) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mode = mode
}

func (m *modeShown) now() fika.Mode {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mode
}

// text returns the mode for the status line; "" without one.
func (m *modeShown) text() string {
	if now := m.now(); now != "" {
		return string(now) + " mode ⇧⇥"
	}
	return ""
}

// modeAbout says in a few words what a mode means.
func modeAbout(mode fika.Mode) string {
	switch mode {
	case fika.PlanMode:
		return "agents only look, and end with a plan"
	case fika.AskMode:
		return "you are asked before a file is changed or a command is run"
	case fika.EditMode:
		return "files are changed; you are asked before a command is run"
	case fika.AutoMode:
		return "nobody is asked, inside the sandbox"
	}
	return "the settings alone say what agents may do"
}

// nextMode handles shift-tab: it sets the mode after the present one, or the one after
// that where it is not possible.
func (v *visit) nextMode() {
	ctx, stop := context.WithTimeout(context.Background(), 3*time.Second)
	defer stop()
	list := fika.Modes()
	at := slices.Index(list, v.mode.now())
	var err error
	for range list {
		at = (at + 1) % len(list)
		if err = v.setMode(ctx, string(list[at])); err == nil || !fika.IsKind(err, fika.Invalid) {
			break
		}
	}
	if err != nil {
		v.screen.Note("— " + command.ErrorText(err))
	}
}

// setMode sets the mode of the chat, and shows it.
func (v *visit) setMode(ctx context.Context, name string) error {
	now, err := v.chat.service().Chats.SetMode(ctx, v.chat.conversation(), name)
	if err != nil {
		return err
	}
	v.mode.set(now.Mode)
	v.screen.Refresh()
	return nil
}

// carryOutMode carries out /mode: it shows the modes, or sets one.
func (v *visit) carryOutMode(ctx context.Context, line input.Line) error {
	switch words := line.Arguments(); len(words) {
	case 0:
		v.screen.Note("— " + orNone(v.mode.now()) + ": " + modeAbout(v.mode.now()))
		for _, m := range fika.Modes() {
			v.screen.Note(fmt.Sprintf("  /mode %-6s%s", m, modeAbout(m)))
		}
		return nil
	case 1:
		if err := v.setMode(ctx, words[0]); err != nil {
			return err
		}
		v.screen.Note("— " + words[0] + " mode: " + modeAbout(v.mode.now()))
		return nil
	}
	return fika.Errorf(fika.Invalid, "", "/mode takes one of plan, ask, edit, auto")
}

func orNone(mode fika.Mode) string {
	if mode == "" {
		return "no mode is set"
	}
	return string(mode) + " mode"
}

// notePlan notes the plan that waits for the person, as far as an entry says it: what is said
// after a plan goes on talking about it.
func (a *asker) notePlan(x fika.Entry) {
	if x.Type != fika.Message {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.plan = nil; x.Meta.Plan {
		a.plan = &x
	}
}

// showPlan asks about the plan that waits, or takes the question away. The caller holds mu;
// no other question is on the screen.
func (a *asker) showPlan() {
	wanted := a.plan != nil && a.mode.now() == fika.PlanMode
	if wanted == a.shown {
		return
	}
	if a.shown = wanted; !wanted {
		a.screen.Ask(nil, nil)
		return
	}
	plan, style := *a.plan, a.env.OutStyle()
	a.screen.AskPlan(func(width, _ int) []string {
		head := "? " + term.CleanLine(plan.From) + " has a plan · plan mode: nothing was changed"
		keys := "  enter start in edit mode   A start in auto mode   esc keep talking"
		if term.Width(keys) > width {
			keys = "  enter edit mode  A auto mode  esc talk"
		}
		return []string{style.Bold(style.Yellow(term.Truncate(head, width))), term.Truncate(keys, width)}
	}, func(key rune) { a.answerPlan(plan, key) })
}

// answerPlan carries out what a key says about a plan.
func (a *asker) answerPlan(plan fika.Entry, key rune) {
	mode := fika.EditMode
	switch key {
	case screen.PlanKeep:
		a.screen.Note("— say what should be different; /mode edit continues without a plan")
		mode = ""
	case screen.PlanAuto:
		mode = fika.AutoMode
	}
	if mode != "" {
		ctx, stop := context.WithTimeout(context.Background(), answerTime)
		defer stop()
		a.started()
		_, err := a.chat.service().Chats.AcceptPlan(ctx, a.chat.conversation(), plan, string(mode), a.chat.as)
		if err != nil {
			a.screen.Note("— " + command.ErrorText(err))
			if !fika.IsKind(err, fika.Conflict) {
				return
			}
		} else {
			a.mode.set(mode)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.plan = nil
	a.showPlan()
}
