package turn

import (
	"context"

	"fika"
	"fika/internal/extension/hook"
	"fika/internal/turn/prompt"
)

// briefing holds what the model is told besides the conversation, and the message that
// the turn answers.
type briefing struct {
	*assignment
	signals  *signals
	history  History
	hooks    hook.Runner
	prompter Prompter
	summary  func(context.Context) (string, error)
	context  string // the name that hooks are given

	prompt   prompt.Prompt // built once per turn, and again after a compaction
	asked    *fika.Entry   // the message that the turn answers: the prompt, or the newest message of others
	replaced string        // what a pre_message hook replaced it with; empty: it stays as stored
}

// preparePrompt builds the system prompt and lets hooks see the prompt.
func (b *briefing) preparePrompt(ctx context.Context) error {
	if err := b.firePreMessage(ctx); err != nil {
		return b.signals.failTurn(ctx, err)
	}
	if err := b.buildPrompt(ctx); err != nil {
		return b.signals.failTurn(ctx, err)
	}
	return nil
}

// buildPrompt has the prompt built from what is true now.
func (b *briefing) buildPrompt(ctx context.Context) (err error) {
	b.prompt, err = b.prompter.Prompt(ctx, b.claimed)
	b.noteMode()
	return err
}

// noteMode makes the prompt say what bounds the turn now.
func (b *briefing) noteMode() { b.prompt = b.prompt.InMode(b.mode) }

// firePreMessage lets hooks see and replace the message that the turn answers: its
// prompt or, for a notification, the newest message of others. Hooks saw the prompt of a
// foreground run before it was stored.
func (b *briefing) firePreMessage(ctx context.Context) error {
	b.asked = b.claimed.Prompt
	if b.claimed.Request.Kind == fika.NotifyRequest {
		err := b.retry.readAgain(ctx, func(ctx context.Context) (err error) {
			b.asked, err = b.newestOfOthers(ctx)
			return err
		})
		if err != nil {
			return err
		}
	}
	if b.asked == nil || b.isForeground() {
		return nil
	}
	summary := ""
	if b.summary != nil {
		var err error
		if summary, err = b.summary(ctx); err != nil {
			return err
		}
	}
	out, err := b.hooks.Fire(ctx, hook.PreMessage, hook.Payload{
		"prompt": b.asked.Content, "context_name": b.context, "summary": summary,
	})
	if err != nil {
		return err
	}
	if s, ok := out["prompt"].(string); ok && s != b.asked.Content {
		b.replaced = s
	}
	return nil
}

// newestOfOthers returns the newest message before this turn that is not the agent's
// own; nil: there is none among the newest entries.
func (b *briefing) newestOfOthers(ctx context.Context) (*fika.Entry, error) {
	for _, size := range []int{2, firstPage} { // usually it is among the two newest
		page, err := b.history.Before(ctx, b.claimed.Conversation.ID, b.claimed.Request.UptoSeq, size)
		if err != nil {
			return nil, err
		}
		for i := range page {
			if page[i].Type == fika.Message && page[i].Meta.WriterName != string(b.claimed.Agent.Name) {
				return &page[i], nil
			}
		}
	}
	return nil, nil
}
