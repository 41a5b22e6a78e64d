package worker

import (
	"context"
	"os"
	"strings"

	"fika"
	"fika/internal/settings/folder"
	"fika/internal/store"
)

// Summary is the summary.md of a context: what compaction left of its conversation, as
// a person may have edited it.
type Summary struct{ folder folder.Folder }

// Text returns the summary, or "" if there is none.
func (s Summary) Text() (string, error) { return PromptSource{Folder: s.folder}.Summary() }

// Replace replaces the summary that the new one was made from. If a person has changed
// it meanwhile, their text stays and the new summary is appended.
func (s Summary) Replace(was, now string, warn func(string)) error {
	for {
		text, err := s.folder.Read(folder.Summary)
		if err != nil {
			return err
		}
		body := strings.TrimSpace(text.Body)
		switch body {
		case now:
			return nil
		case was:
			body = now
		default:
			warn(s.folder.TextPath(folder.Summary) + " was changed meanwhile: the new summary is put behind what it says")
			body += "\n\n" + now
		}
		if body != "" {
			body += "\n"
		}
		if _, err = s.folder.WriteIf(folder.Summary, text.Hash, body); !fika.IsKind(err, fika.Conflict) {
			return err
		}
	}
}

// repair finishes what a crash between the commit of a compaction of c and the writing
// of summary.md left undone. A summary that differs from the one the compaction was
// made from, or was written after it, has been edited and stays.
func (s Summary) repair(ctx context.Context, from *store.Store, c fika.ConversationID) error {
	if c == "" {
		return nil
	}
	last, err := from.Entries(ctx, store.EntryQuery{Conversation: c, Types: []fika.EntryType{fika.Compaction}, Last: 1})
	if err != nil || len(last) == 0 {
		return err
	}
	m := last[0].Meta
	if m.Was == m.Summary {
		return nil
	}
	info, err := os.Stat(s.folder.TextPath(folder.Summary))
	if err == nil && info.ModTime().After(last[0].At) {
		return nil
	}
	text, err := s.folder.Read(folder.Summary)
	if err != nil || strings.TrimSpace(text.Body) != m.Was {
		return err
	}
	return s.Replace(m.Was, m.Summary, func(string) {})
}
