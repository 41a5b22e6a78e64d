package folder

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"fika"
)

// historyName is the file in which chibi's first versions kept the window of a context.
const historyName = "context.json"

// history is the content of context.json: the texts of user and assistant, without
// tools.
type history struct {
	Name     string `json:"name"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	CreatedAt json.RawMessage `json:"created_at"`
	UpdatedAt json.RawMessage `json:"updated_at"`
}

// readHistory reads context.json. Its messages are still in the conversation: if the
// transcript has entries with the same texts, these become the window, otherwise the
// messages themselves do. System messages are skipped, because prompts are files.
func (c *Content) readHistory(root *os.Root) error {
	data, err := readInRoot(root, historyName)
	if data == nil || err != nil {
		return err
	}
	var h history
	if err := json.Unmarshal(data, &h); err != nil {
		c.noteProblem(historyName, Problem{Line: 1, Reason: "not a history: " + jsonReason(err)})
		return nil
	}
	if at, ok := parseTime(h.CreatedAt); ok {
		c.CreatedAt = at
	}
	at, ok := parseTime(h.UpdatedAt)
	if !ok || at.IsZero() {
		at = modTime(root, historyName) // the file's time, if the content does not say
	}
	said := h.importedEntries(at)
	if len(said) == 0 || len(c.now) > 0 { // context.jsonl is newer
		return nil
	}
	c.Sources = append(c.Sources, historyName)
	run, err := c.lastRun(said)
	if err != nil {
		return err
	}
	if len(run) > 0 {
		at := len(c.older) - len(run)
		c.older, c.now = c.older[:at:at], c.older[at:]
		for i, id := range run {
			c.now[i].archived, c.ids[keyOf(id)] = false, false
		}
		return nil
	}
	c.said = said
	for i, e := range said {
		if c.noteFound(e.ID, false) {
			c.now = append(c.now, item{offset: int64(i), file: inMemory})
		}
	}
	return nil
}

func modTime(root *os.Root, name string) time.Time {
	info, err := root.Stat(name)
	if err != nil {
		return time.Unix(0, 0).UTC()
	}
	return info.ModTime().UTC()
}

// importedEntries returns the messages, all with the same time.
func (h history) importedEntries(at time.Time) []fika.Entry {
	var said []fika.Entry
	for i, m := range h.Messages {
		var text string
		if json.Unmarshal(m.Content, &text) != nil {
			text = string(m.Content) // parts, or null: kept unchanged
		}
		if m.Role == "system" || strings.TrimSpace(text) == "" || text == "null" {
			continue
		}
		from, to := m.Role, h.Name
		if from == "assistant" {
			from, to = h.Name, "user"
		}
		id := "history-" + hashOf(fmt.Appendf(nil, "%d:%s:%s", i, m.Role, text))
		said = append(said, fika.Entry{ID: fika.EntryID(id), At: at, From: orName(from), To: orName(to), Content: text, Type: fika.Message})
	}
	return said
}

func orName(s string) string {
	if s == "" {
		return "assistant"
	}
	return s
}

// lastRun finds the entries at the end of those compacted away whose messages equal
// said, compared backwards from the last. It returns their ids, or none if they are not
// there.
func (c *Content) lastRun(said []fika.Entry) (ids []fika.EntryID, err error) {
	n := len(said) - 1
	for i := len(c.older) - 1; i >= 0; i-- {
		var e fika.Entry
		if err := c.readItems(c.older[i:i+1], func(found fika.Entry, _ bool) error { e = found; return nil }); err != nil {
			return nil, err
		}
		ids = append(ids, e.ID)
		if e.Type != fika.Message {
			continue
		}
		if strings.TrimSpace(e.Content) != strings.TrimSpace(said[n].Content) {
			return nil, nil
		}
		if n--; n < 0 {
			slices.Reverse(ids)
			return ids, nil
		}
	}
	return nil, nil
}

// readInbox reads the unread messages. A message without an id gets one from its
// content, so that a second reading gives the same.
func (c *Content) readInbox(root *os.Root) error {
	file, err := openInRoot(root, inboxName)
	if file == nil || err != nil {
		return err
	}
	defer file.Close()
	seen := map[fika.EntryID]int{}
	for lines := newLineReader(file); ; {
		l, err := lines.nextLine()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fileError("read "+inboxName, inboxName, err)
		}
		m, reason := parseInbox(l, "", 0)
		if reason != "" {
			c.noteProblem(inboxName, l.problemWith(reason))
			continue
		}
		if strings.HasPrefix(string(m.ID), "inbox-") {
			id := fika.EntryID("inbox-" + hashOf(l.data))
			if seen[id]++; seen[id] > 1 {
				id = fika.EntryID(fmt.Sprintf("%s-%d", id, seen[id]))
			}
			m.ID = id
		}
		c.Inbox = append(c.Inbox, m)
	}
}
