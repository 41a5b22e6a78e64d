package master

import (
	"context"

	"fika"
)

// lookAtApprovals shows questions that are new, and what became of others. Piped
// input shows none: nobody reads them.
func (m *Master) lookAtApprovals(ctx context.Context) {
	if m.o.Approvals == nil || !m.o.Screen.Interactive() {
		return
	}
	said, err := m.desk.TakeNews(ctx, m.o.Approvals)
	if err != nil {
		return // readOutcomes tells of a store that cannot be read
	}
	m.printQuestions(said)
}

// approve is /approve, /approve N and /approve N --deny WHY.
func (m *Master) approve(ctx context.Context, words []string) error {
	if m.o.Approvals == nil || !m.o.Screen.Interactive() {
		return fika.Errorf(fika.Invalid, "", "/approve answers what was shown at a terminal; in a script: fika approve N")
	}
	said, err := m.desk.CarryOut(ctx, m.o.Approvals, words)
	m.printQuestions(said)
	return err
}

func (m *Master) printQuestions(texts []string) {
	for _, text := range texts {
		m.out.printWarning(text)
	}
}
