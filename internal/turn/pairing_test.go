package turn_test

import (
	"fmt"
	"testing"

	"fika"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/tool"
	"fika/internal/turn"
)

// valid checks what providers require of a window: it begins with the user and ends with
// something to answer, every call is answered exactly once and right after, no result is
// without a call, no assistant message is empty.
func valid(messages []llm.Message) error {
	if len(messages) == 0 || messages[0].Role != llm.User {
		return fmt.Errorf("it does not begin with the user")
	}
	if messages[len(messages)-1].Role == llm.Assistant {
		return fmt.Errorf("it ends with the assistant")
	}
	open := map[string]bool{}
	for i, m := range messages {
		if m.Role == llm.ToolRole {
			if !open[m.CallID] {
				return fmt.Errorf("message %d answers %q, which is not open", i, m.CallID)
			}
			delete(open, m.CallID)
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("message %d comes before the results of %v", i, open)
		}
		if m.Role != llm.Assistant {
			continue
		}
		if m.Text == "" && len(m.Calls) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		for _, c := range m.Calls {
			if c.ID == "" || open[c.ID] {
				return fmt.Errorf("message %d has two calls %q", i, c.ID)
			}
			open[c.ID] = true
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("no results for %v", open)
	}
	return nil
}

// FuzzMessages: whatever a conversation holds, the model gets a window that
// providers take.
func FuzzMessages(f *testing.F) {
	f.Add([]byte("mMcrM"))
	f.Add([]byte("ccrr"))
	f.Add([]byte("rcmcrMMccrcmn"))
	f.Add([]byte{0, 1, 2, 3, 250, 251, 252})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 200 {
			return
		}
		var entries []fika.Entry
		for i := 0; i < len(script); i++ {
			e := fika.Entry{Seq: int64(i + 1), ID: fika.EntryID(fmt.Sprint(i)), From: "ann", Content: "x", Type: fika.Message}
			id := "id"
			if i+1 < len(script) {
				id = fmt.Sprint(script[i+1] % 5) // few ids, so that they clash
			}
			if id == "4" {
				id = ""
			}
			switch script[i] % 8 {
			case 0:
			case 1:
				e.From, e.Meta.Writer, e.Meta.WriterName = "arya", fika.ByAgent, "arya"
			case 2:
				e.From, e.Content, e.Meta.Writer, e.Meta.WriterName = "arya", " ", fika.ByAgent, "arya"
			case 3, 4:
				e.Type, e.From, e.To, e.Content, e.Meta.ToolCallID = fika.ToolCall, "arya", "look", "{}", id
			case 5, 6:
				e.Type, e.From, e.To, e.Meta.ToolCallID = fika.ToolResult, "look", "arya", id
			case 7:
				e.Type = []fika.EntryType{fika.Notice, fika.Compaction, "odd"}[i%3]
			}
			entries = append(entries, e)
		}
		c := store.Claimed{Agent: fika.Agent{Name: "arya"}, Conversation: fika.Conversation{Kind: fika.Ask}}
		got := turn.Messages(turn.Config{Call: tool.Call{Username: "ann"}}, c, entries)
		if err := valid(got); err != nil {
			t.Errorf("%v\nof %+v", err, got)
		}
	})
}
