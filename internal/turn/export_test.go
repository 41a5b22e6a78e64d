package turn

import (
	"fika"
	"fika/internal/llm"
	"fika/internal/store"
)

// Messages returns what the model would be sent for these entries.
func Messages(cfg Config, c store.Claimed, entries []fika.Entry) []llm.Message {
	return newAttempt(New(cfg), c).model.composer.composeMessages(entries)
}
