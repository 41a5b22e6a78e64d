package session

import (
	"context"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/screen"
	"fika/internal/terminal/question"
	"fika/internal/terminal/view"
)

// asker asks the person about tool calls, one after the other, above the line they type,
// and takes their answers. It is safe for concurrent use.
type asker struct {
	env    *command.Env
	chat   *joinedChat
	screen *screen.Screen
	desk   *question.Desk
	mode   *modeShown
	// started is called before work begins.
	started func()

	mu    sync.Mutex
	panel *question.Panel // on the screen; nil: none
	plan  *fika.Entry     // waits for an answer; nil: none
	shown bool            // the plan is on the screen
}

// showNews shows what became of questions, and the oldest one that is open. Where nobody
// types, it prints the questions.
func (a *asker) showNews(n question.News) {
	if !a.screen.IsInteractive() {
		a.screen.PrintQuestions(n.Texts())
		return
	}
	a.screen.PrintQuestions(n.Ended)
	a.showOldest()
}

// showOldest puts the oldest open question above the line, unless it is there.
func (a *asker) showOldest() {
	a.mu.Lock()
	defer a.mu.Unlock()
	open := a.desk.Open()
	if len(open) == 0 {
		if a.panel != nil {
			a.panel = nil
			a.screen.Ask(nil, nil)
		}
		a.showPlan()
		return
	}
	a.shown = false
	if a.panel != nil && a.panel.Question().N == open[0].N {
		a.panel.SetMore(len(open) - 1)
		return
	}
	approvals := a.chat.service().Approvals()
	always := ""
	rule, err := approvals.RuleFor(open[0])
	if err == nil {
		always = rule.Pattern()
	}
	p := question.NewPanel(open[0], always, a.env.OutStyle(), a.env.Now)
	p.SetMore(len(open) - 1)
	a.panel = p
	a.screen.Ask(p, func(key rune, words string) {
		ctx, stop := context.WithTimeout(context.Background(), answerTime)
		defer stop()
		if err := a.answer(ctx, p, key, words); err != nil {
			a.screen.Note("— " + command.ErrorText(err))
		} else if key == question.KeyAlways {
			if err := a.chat.service().Approvals().AddRule(ctx, open[0].N, rule); err != nil {
				a.screen.Note("— allowed once; no rule was written: " + err.Error())
			} else {
				a.screen.Note("— from now on allowed: " + always)
			}
		}
		a.showOldest()
	})
}

// answerTime bounds how long an answer may take to be stored.
const answerTime = 10 * time.Second

// answer stores the answer that a key gives, and says so above the line.
func (a *asker) answer(ctx context.Context, p *question.Panel, key rune, words string) error {
	q := p.Question()
	allow, words := p.Answer(key, words)
	if err := a.desk.Answer(ctx, a.chat.service().Approvals(), q.N, allow, words); err != nil {
		return err
	}
	what := question.AskerText(q)
	if q.FlowStep == "" {
		what = "@" + string(q.Agent) + ": " + view.Call{Tool: q.Tool, Args: []byte(q.Args)}.Title()
	}
	st := a.env.OutStyle()
	switch {
	case allow && words != "":
		a.screen.Print(st.Green("✓") + " you answered " + what + ": " + words)
		return nil
	case allow:
		a.screen.Print(st.Green("✓") + " you allowed " + what)
		return nil
	}
	a.screen.Print(strings.TrimSuffix(st.Red("✗")+" you refused "+what+" — "+words, " — "))
	return nil
}
