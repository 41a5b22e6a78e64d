package turn

import (
	"fika"
	"fika/internal/llm"
	"fika/internal/store"
)

// Messages is what the model would be sent for these entries.
func Messages(cfg Config, c store.Claimed, entries []fika.Entry) []llm.Message {
	w := &attempt{Engine: New(cfg), claimed: c, fence: c.Fence, records: map[fika.EntryID]record{}, recalled: map[fika.EntryID]bool{}}
	return w.messages(entries)
}
