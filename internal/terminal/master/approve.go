package master

import (
	"context"

	"fika"
	"fika/internal/terminal/question"
	"fika/internal/text/hint"
)

// questions shows the tool calls that wait for a person's approval, and accepts the
// answers. With piped input none are shown, because nobody reads them.
type questions struct {
	approvals question.Approvals // nil: there are none
	desk      question.Desk
	screen    Screen
	out       *display
}

func (q *questions) readByNobody() bool { return q.approvals == nil || !q.screen.Interactive() }

// showNews shows new questions, and what became of earlier ones.
func (q *questions) showNews(ctx context.Context) {
	if q.readByNobody() {
		return
	}
	news, err := q.desk.TakeNews(ctx, q.approvals)
	if err != nil {
		return // readOutcomes reports a store that cannot be read
	}
	q.print(news.Texts())
}

// approve runs /approve, /approve N and /approve N --deny WHY.
func (q *questions) approve(ctx context.Context, words []string) error {
	if q.readByNobody() {
		return fika.Errorf(fika.Invalid, "", "/approve answers what was shown at a terminal; in a script: %s N", hint.Approve.With())
	}
	said, err := q.desk.CarryOut(ctx, q.approvals, words)
	q.print(said)
	return err
}

func (q *questions) print(texts []string) {
	for _, text := range texts {
		q.out.printWarning(text)
	}
}
