package turn_test

import (
	"fmt"

	"fika/internal/llm"
)

// valid checks what providers ask of a window: it begins with the user and ends
// with something to answer, every call is answered exactly once and right
// after, no result answers nothing, no assistant message is empty.
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
