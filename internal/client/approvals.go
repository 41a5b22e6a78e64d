package client

import (
	"context"

	"fika/internal/store"
)

// Approvals is what may be asked of tool calls that wait for a person's word.
type Approvals struct{ c *Client }

// What the store keeps of them.
type (
	// OpenApproval is a question with who asks it.
	OpenApproval = store.OpenApproval
	// ApprovalAnswer is what a person says.
	ApprovalAnswer = store.ApprovalAnswer
)

// What has become of a question.
const (
	ApprovalOpen  = store.ApprovalOpen
	ApprovalGiven = store.ApprovalGiven
)

// Approvals are the questions of this system.
func (c *Client) Approvals() *Approvals { return &Approvals{c} }

// Open lists the questions that wait for an answer, oldest first.
func (a *Approvals) Open(ctx context.Context) ([]OpenApproval, error) {
	return a.c.store.OpenApprovals(ctx)
}

// Find gives one question, answered or not. NotFound.
func (a *Approvals) Find(ctx context.Context, n int64) (OpenApproval, error) {
	return a.c.store.Approval(ctx, n)
}

// Answer stores the answer and wakes the agent that waits for it. Conflict when
// somebody has answered before, or nobody waits any more.
func (a *Approvals) Answer(ctx context.Context, n int64, answer ApprovalAnswer) error {
	open, err := a.Find(ctx, n)
	if err != nil {
		return err
	}
	if _, err := a.c.store.AnswerApproval(ctx, n, answer); err != nil {
		return err
	}
	if open.FlowStep != "" {
		run, err := a.c.store.Run(ctx, open.Request)
		if err == nil {
			_, err = a.c.Runs().advanced(ctx, run.ID)
		}
		return err
	}
	a.c.wakeHub(ctx, open.Agent)
	return nil
}
