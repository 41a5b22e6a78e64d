package question

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"fika"
	"fika/internal/service"
	"fika/internal/system/term"
)

// Approvals gives access to the questions of a home.
type Approvals interface {
	Open(context.Context) ([]service.OpenApproval, error)
	Find(context.Context, int64) (service.OpenApproval, error)
	Answer(context.Context, int64, service.ApprovalAnswer) error
}

// Desk is the place where one person is asked. It remembers which questions it has
// shown: only those can be answered, so that a number typed by chance, or before its
// question was shown, answers nothing. It is safe for concurrent use.
type Desk struct {
	// Person is the name under which the answers are given.
	Person string
	// Concerns selects the questions that are shown here; nil selects all.
	Concerns func(service.OpenApproval) bool

	mu    sync.Mutex
	shown []service.OpenApproval // and open at the last look
}

// News is what has changed since the last look.
type News struct {
	Ended []string               // what became of questions that are no longer open
	Asked []service.OpenApproval // new questions
}

// Texts returns the news, one text each.
func (n News) Texts() []string {
	texts := slices.Clone(n.Ended)
	for _, q := range n.Asked {
		texts = append(texts, FullText(q))
	}
	return texts
}

// TakeNews returns the news since the last look.
func (d *Desk) TakeNews(ctx context.Context, a Approvals) (News, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.readNews(ctx, a)
}

func (d *Desk) readNews(ctx context.Context, a Approvals) (n News, err error) {
	open, err := a.Open(ctx)
	if err != nil {
		return n, err
	}
	if d.Concerns != nil {
		open = slices.DeleteFunc(open, func(q service.OpenApproval) bool { return !d.Concerns(q) })
	}
	for _, q := range d.shown {
		if !holds(open, q.N) {
			n.Ended = append(n.Ended, ended(ctx, a, q.N))
		}
	}
	for _, q := range open {
		if !holds(d.shown, q.N) {
			n.Asked = append(n.Asked, q)
		}
	}
	d.shown = open
	return n, nil
}

func holds(list []service.OpenApproval, n int64) bool {
	return slices.ContainsFunc(list, func(q service.OpenApproval) bool { return q.N == n })
}

// maxWhich is how much of a call, in columns, tells a question from others.
const maxWhich = 50

// ended says what became of a question that is no longer open.
func ended(ctx context.Context, a Approvals, n int64) string {
	q, err := a.Find(ctx, n)
	which, about := fmt.Sprintf("question %d", n), ""
	if err == nil && q.What != "" {
		about = " (" + term.Truncate(term.Visible(q.What), maxWhich) + ")"
	}
	switch {
	case err == nil && q.State == service.ApprovalExpired:
		return which + " expired: nobody answered in time, and the call was refused"
	case err != nil || q.By == "":
		return which + " is no longer asked" + about
	case q.State == service.ApprovalGiven && q.Why != "":
		return which + " was answered by " + q.Answerer() + ": " + q.Why
	case q.State == service.ApprovalGiven:
		return which + " was approved by " + q.Answerer() + about
	}
	return strings.TrimSuffix(which+" was denied by "+q.Answerer()+": "+q.Why, ": ")
}

// Open returns the questions that were open at the last look, oldest first.
func (d *Desk) Open() []service.OpenApproval {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.shown)
}

// OpenNumbers returns the numbers of the questions that were open at the last look.
func (d *Desk) OpenNumbers() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, q := range d.shown {
		out = append(out, fmt.Sprint(q.N))
	}
	return out
}

// Answer gives a person's answer to a question that was shown here. The next news do not
// repeat it. Error kinds: as of CarryOut.
func (d *Desk) Answer(ctx context.Context, a Approvals, n int64, allow bool, why string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.answer(ctx, a, n, allow, why); err != nil {
		return err
	}
	d.shown = slices.DeleteFunc(slices.Clone(d.shown), func(q service.OpenApproval) bool { return q.N == n })
	return nil
}

func (d *Desk) answer(ctx context.Context, a Approvals, n int64, allow bool, why string) error {
	if !holds(d.shown, n) {
		q, err := a.Find(ctx, n)
		switch {
		case err != nil:
			return err
		case q.State != service.ApprovalOpen:
			return fika.Errorf(fika.Conflict, "", "%s already", ended(ctx, a, n))
		}
		return fika.Errorf(fika.Invalid, "", "question %d was not shown here; /approve alone shows what is asked", n)
	}
	q := d.shown[slices.IndexFunc(d.shown, func(q service.OpenApproval) bool { return q.N == n })]
	if s, _ := service.StepQuestionOf(q); allow && why != "" && s.Wants() == "" {
		return yesOrNo(n)
	}
	return a.Answer(ctx, n, service.ApprovalAnswer{Allow: allow, By: d.Person, Why: why})
}

// CarryOut carries out the words after /approve and returns the lines to show. Error
// kinds: Invalid for words that it does not understand or a question that was not
// shown; Conflict when the question has been answered before.
func (d *Desk) CarryOut(ctx context.Context, a Approvals, words []string) ([]string, error) {
	c, err := ParseAnswer(words)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.N == 0 {
		return d.list(ctx, a)
	}
	if err := d.answer(ctx, a, c.N, c.Allow, c.Why); err != nil {
		return nil, err
	}
	news, err := d.readNews(ctx, a)
	return news.Texts(), err
}

// list shows every open question again.
func (d *Desk) list(ctx context.Context, a Approvals) ([]string, error) {
	news, err := d.readNews(ctx, a)
	if err != nil {
		return nil, err
	}
	said := news.Texts()
	for _, q := range d.shown {
		if text := FullText(q); !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	if len(said) == 0 {
		said = []string{"nothing to approve"}
	}
	return said, nil
}
