package app

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"fika"
	"fika/internal/folder"
	"fika/internal/store"
)

// Imported tells what a folder from elsewhere gave.
type Imported struct {
	New      int // entries that were not here yet
	Entries  int // entries the folder holds
	Unread   int // messages of its inbox that were not here yet
	Problems []folder.Problem
	Notes    []string // what a person should know of its texts
}

// adopt takes in the entries of a folder that was made elsewhere and put into
// contexts/ by hand. It comes before the mirror is opened, which would
// otherwise set the files aside as strange. Interrupted, it is done again:
// entries are known by their ids.
func (own *Owned) adopt(ctx context.Context) error {
	yes, err := own.Folder.Adoptable(ctx, asks{store: own.Store, agent: own.Agent.Name})
	if err != nil || !yes {
		return err
	}
	c, err := folder.ReadFolder(own.Folder.Path())
	if err != nil {
		return err
	}
	got, err := own.takeIn(ctx, c)
	if err != nil {
		return err
	}
	own.notes = append(own.notes, fmt.Sprintf("context %q came from elsewhere: %d entries were taken over", own.Folder.Name, got.New))
	own.notes = append(own.notes, problemNotes(got.Problems)...)
	own.madeAt = c.CreatedAt
	return nil
}

// takeUnread delivers the messages of a foreign inbox, in their order: the
// next turn reads them.
func (own *Owned) takeUnread(ctx context.Context, c folder.Content, got *Imported) error {
	for _, m := range c.Inbox {
		posted, err := (&inbox{own: own}).deliver(ctx, m)
		if err != nil {
			return err
		}
		if !posted.Repeat {
			got.Unread++
		}
	}
	return nil
}

// takeIn appends foreign entries to the active conversation. What was in the
// window, here or there, is in it afterwards; what the folder had archived is
// not.
func (own *Owned) takeIn(ctx context.Context, c folder.Content) (Imported, error) {
	got := Imported{Entries: len(c.Archived) + len(c.Window), Problems: c.Problems}
	conv, err := own.Store.ActiveAsk(ctx, own.Agent.ID)
	if err != nil {
		return got, err
	}
	before, err := own.windowIDs(ctx, conv.ID)
	if err != nil {
		return got, err
	}
	if got.New, err = own.Store.Import(ctx, conv.ID, inOrder(c)); err != nil {
		return got, err
	}
	want := before
	for _, e := range c.Window {
		want[e.ID] = true
	}
	for _, e := range c.Archived {
		delete(want, e.ID)
	}
	return got, own.setWindow(ctx, conv.ID, want, c.Texts[folder.Summary])
}

// inOrder gives the entries of a folder as they were said: by seq, where they
// are of one conversation, so that compactions still speak of the right ones.
func inOrder(c folder.Content) []fika.Entry {
	all := slices.Concat(c.Archived, c.Window)
	seen := make(map[int64]bool, len(all))
	for _, e := range all {
		if e.Seq <= 0 || seen[e.Seq] {
			return all
		}
		seen[e.Seq] = true
	}
	slices.SortFunc(all, func(a, b fika.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	return all
}

func (own *Owned) windowIDs(ctx context.Context, c fika.ConversationID) (map[fika.EntryID]bool, error) {
	entries, err := own.window(ctx, c)
	ids := make(map[fika.EntryID]bool, len(entries))
	for _, e := range entries {
		ids[e.ID] = true
	}
	return ids, err
}

// window reads the entries of a conversation after its last compaction.
func (own *Owned) window(ctx context.Context, c fika.ConversationID) ([]fika.Entry, error) {
	return windowOf(ctx, own.Store, c)
}

func windowOf(ctx context.Context, s *store.Store, c fika.ConversationID) ([]fika.Entry, error) {
	cut, err := s.LastCompaction(ctx, c, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	q := store.EntryQuery{Conversation: c}
	if cut != nil && len(cut.Meta.Kept) == 0 {
		q.Since = cut.Meta.UpTo
	}
	all, err := s.Entries(ctx, q)
	if err != nil {
		return nil, err
	}
	_, window := folder.SplitWindow(all)
	return window, nil
}

// setWindow appends a compaction if other entries than those wanted are in the
// window. Compactions themselves do not count: no model reads them.
func (own *Owned) setWindow(ctx context.Context, c fika.ConversationID, want map[fika.EntryID]bool, summary string) error {
	all, err := own.Store.Entries(ctx, store.EntryQuery{Conversation: c})
	if err != nil || len(all) == 0 {
		return err
	}
	_, window := folder.SplitWindow(all)
	have := make(map[fika.EntryID]bool, len(window))
	for _, e := range window {
		have[e.ID] = true
	}
	same := true
	var kept []int64
	for _, e := range all {
		if e.Type == fika.Compaction {
			continue
		}
		same = same && have[e.ID] == want[e.ID]
		if want[e.ID] {
			kept = append(kept, e.Seq)
		}
	}
	if same {
		return nil
	}
	if mine, err := own.Folder.Read(folder.Summary); err != nil {
		return err
	} else if s := strings.TrimSpace(mine.Body); s != "" {
		summary = s // a person's own summary stays
	}
	summary = strings.TrimSpace(summary)
	_, err = own.Store.AppendCompaction(ctx, c, string(own.Agent.Name), "archived before it came here",
		fika.EntryMeta{UpTo: all[len(all)-1].Seq, Kept: kept, Summary: summary, Was: summary})
	return err
}

// problemNotes says which lines could not be understood, the first few of them
// by name.
func problemNotes(list []folder.Problem) []string {
	const most = 3
	var notes []string
	for _, p := range list[:min(most, len(list))] {
		notes = append(notes, p.String())
	}
	if n := len(list) - most; n > 0 {
		notes = append(notes, fmt.Sprintf("%d more lines could not be understood", n))
	}
	return notes
}

// Notes says what a person should know of this opening: that a folder was
// taken over, that a file was set aside. Reading them clears them.
func (own *Owned) Notes() []string {
	notes := append(own.notes, own.Mirror.Notes()...)
	own.notes = nil
	return notes
}
