package workflow

import (
	"fmt"
	"strings"

	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/workflow"
)

// progress reports on stderr what happens in a run: a line when a step begins and one
// when it ends, and for long lists how far they are.
type progress struct {
	*command.Env
	total int // steps of the run
	told  map[string]string
	asked map[int64]bool
	items map[string]int // tenths reported, by the row of the list
}

func newProgress(e *command.Env, total int) *progress {
	return &progress{Env: e, total: total, told: map[string]string{}, asked: map[int64]bool{}, items: map[string]int{}}
}

// manyItems is the length of a list beyond which its items are not reported one by one.
const manyItems = 20

// Show reports what has changed since it was last called.
func (p *progress) Show(r service.Run, steps []service.RunStep) {
	ended := endedSteps(steps)
	rows := map[string]service.RunStep{}
	for _, s := range steps {
		rows[s.ID] = s
	}
	for _, s := range steps {
		if s.Kind == workflow.KindEach {
			p.list(s, ended)
		} else if !inLongList(s, rows) {
			p.step(s, ended)
		}
		if s.Approval > 0 && !p.asked[s.Approval] {
			p.asked[s.Approval] = true
			p.line(ended, s.Path, fmt.Sprintf("waits for your approval: fika approve %d", s.Approval))
		}
	}
}

// endedSteps counts the steps of a run that have ended and are not to be done
// again.
func endedSteps(steps []service.RunStep) int {
	last := map[string]service.RunStep{}
	for _, s := range steps {
		if s.Parent == "" && s.Attempt >= last[s.Path].Attempt {
			last[s.Path] = s
		}
	}
	n := 0
	for _, s := range last {
		if s.State.Ended() && !s.Redo {
			n++
		}
	}
	return n
}

// inLongList reports whether a step is an item of a long list, or inside one.
func inLongList(s service.RunStep, rows map[string]service.RunStep) bool {
	for s.Parent != "" {
		s = rows[s.Parent]
		if s.ID == "" || s.Kind == workflow.KindEach && s.Count > manyItems {
			return true
		}
	}
	return false
}

// step reports a step whose state or worker has changed since the last report.
func (p *progress) step(s service.RunStep, ended int) {
	now := string(s.State) + " " + string(s.Worker)
	if s.Kind == workflow.KindRepeat && !s.State.Ended() || s.Approval > 0 || p.told[s.ID] == now {
		return
	}
	p.told[s.ID] = now
	p.line(ended, s.Path, describeStep(s))
}

// list reports how far a list is: at its beginning, at its end, and at each tenth of a
// long one.
func (p *progress) list(s service.RunStep, ended int) {
	tenth := 10
	if !s.State.Ended() && s.Count > 0 {
		tenth = 10 * (s.Done + s.Failed) / s.Count
	}
	if last, told := p.items[s.ID]; told && last >= tenth || s.Count <= manyItems && s.Made > 0 && !s.State.Ended() {
		return
	}
	p.items[s.ID] = tenth
	if s.State.Ended() {
		p.line(ended, s.Path, describeStep(s))
		return
	}
	p.line(ended, s.Path, fmt.Sprintf("%d of %d items done", s.Done, s.Count))
}

func (p *progress) line(ended int, path, text string) {
	of := ""
	if p.total > 1 {
		of = fmt.Sprintf("[%d/%d] ", ended, p.total)
	}
	fmt.Fprintln(p.Err, p.ErrStyle().Dim(term.CleanLine(of+path+": "+text)))
}

// describeStep returns the state of a step in a few words.
func describeStep(s service.RunStep) string {
	var parts []string
	switch {
	case s.State == workflow.Running && s.Agent != "":
		parts = append(parts, s.Who()+" works on it")
	case s.State == workflow.Running && s.Conversation != "":
		parts = append(parts, "they talk (fika chat view "+string(s.Conversation)+" --follow)")
	case s.State == workflow.Running:
		parts = append(parts, "begun")
	case s.State == workflow.Waiting && !s.NotBefore.IsZero():
		parts = append(parts, "attempt "+fmt.Sprint(s.Attempt)+" at "+s.NotBefore.Local().Format("15:04:05"))
	case s.Worker != "":
		parts = append(parts, string(s.State)+" by "+s.Who())
	default:
		parts = append(parts, string(s.State))
	}
	if s.State.Ended() {
		if !s.Begun.IsZero() && s.Ended.After(s.Begun) {
			parts = append(parts, "in "+term.Duration(s.Ended.Sub(s.Begun)))
		}
		if s.Usage.Tokens > 0 {
			parts = append(parts, term.ShortCount(s.Usage.Tokens)+" tokens")
		}
		if m := money(s.Usage.Cost); m != "" {
			parts = append(parts, m)
		}
	}
	text := strings.Join(parts, ", ")
	if s.State.Ended() && s.State != workflow.Done && s.Error != "" {
		text += ": " + term.Truncate(s.Error, 200)
	}
	return text
}
