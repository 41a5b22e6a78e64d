package turn

import (
	"context"

	"fika"
	"fika/internal/llm"
	"fika/internal/store"
)

// Messages returns what the model would be sent for these entries.
func Messages(cfg Config, c store.Claimed, entries []fika.Entry) []llm.Message {
	return newAttempt(New(cfg), c).model.composer.composeMessages(entries)
}

// Window returns what the model would be sent next by a turn that has written its own
// entries.
func Window(ctx context.Context, cfg Config, c store.Claimed, own []fika.Entry) ([]llm.Message, error) {
	a := newAttempt(New(cfg), c)
	a.own = own
	a.model.useLast()
	var all []*fika.Entry
	for i := range own {
		all = append(all, &own[i])
	}
	if err := a.records.readEarlier(ctx, all); err != nil {
		return nil, err
	}
	entries, err := a.window.selectEntries(ctx)
	if err != nil {
		return nil, err
	}
	return a.model.composer.composeMessages(entries), nil
}
