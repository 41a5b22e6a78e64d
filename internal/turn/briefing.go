package turn

import (
	"context"

	"fika"
	"fika/internal/hook"
)

// briefing is what the model is told besides the conversation, and what the turn
// answers.
type briefing struct {
	*assignment
	signals  *signals
	history  History
	hooks    hook.Runner
	prompter Prompter
	summary  func(context.Context) (string, error)
	context  string // as hooks are told

	system   string      // assembled once per turn
	state    string      // likewise; shown where it differs from what the window shows of it
	asked    *fika.Entry // what the turn answers: the prompt, or the newest message of others
	replaced string      // what a pre_message hook made of it; empty: as stored
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

// buildPrompt has system text and state written: of what is true now.
func (b *briefing) buildPrompt(ctx context.Context) (err error) {
	b.system, b.state, err = b.prompter.System(ctx, b.claimed)
	return err
}

// firePreMessage lets hooks see and replace what the turn answers: its prompt, or
// the newest of the messages that it was told of. The prompt of a foreground
// run was shown to them before it was stored.
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

// newestOfOthers is the newest message before this turn that is not the
// agent's own.
func (b *briefing) newestOfOthers(ctx context.Context) (*fika.Entry, error) {
	for _, size := range []int{2, firstPage} { // mostly it is the newest of all
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
