package flow

import (
	"context"
	"fmt"
	"strings"

	"fika/internal/store"
	"fika/internal/text/hint"
	"fika/internal/workflow"
)

// answers returns the result of a run, both as one text and as it is posted in the
// chat where the run was begun.
func answers(ctx context.Context, given Outputs, r store.Run, result workflow.Result) (out store.Answer, err error) {
	if out.Text, err = answer(ctx, given, result); err != nil || r.Chat == "" {
		return out, err
	}
	out.Chat, err = chatAnswer(ctx, given, r, result)
	return out, err
}

// chatAnswer returns what each of the team has said, who said nothing and why, and
// how to resume a run that did not end well. Long texts are cut, because every agent
// in the chat gets the whole post in each prompt.
func chatAnswer(ctx context.Context, given Outputs, r store.Run, result workflow.Result) (string, error) {
	workers, err := given.Workers(ctx, r.ID)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range result.Parts {
		who := p.Step
		if p.Agent != "" {
			who = "@" + p.Agent
		}
		if by := workers[p.From]; by != "" && p.From != "" {
			who = "@" + string(by) + " for " + who
		}
		if p.State != workflow.Done || p.From == "" {
			if p.Error != "" {
				fmt.Fprintf(&b, "%s gave no answer: %s\n\n", who, p.Error)
			}
			continue
		}
		text, err := partText(ctx, given, p)
		if err != nil {
			return "", err
		}
		if len(text) > workflow.MaxText {
			text = strings.ToValidUTF8(text[:workflow.MaxText], "") + fmt.Sprintf("\n… (%s shows all of it)", hint.WorkflowOutput.With(r.ID, p.Step))
		}
		fmt.Fprintf(&b, "%s:\n%s\n\n", who, strings.TrimSpace(text))
	}
	if result.State != workflow.Done {
		why := result.Error
		if result.State == workflow.Cancelled && r.Reason != "" { // in the words of whoever cancelled it
			why = r.Reason
		}
		fmt.Fprintf(&b, "The run %s is %s: %s. %s continues with what is not done.", r.ID, result.State, why, hint.WorkflowResume.With(r.ID))
	}
	return strings.TrimSpace(b.String()), nil
}
