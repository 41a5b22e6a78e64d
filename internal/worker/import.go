package worker

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"fika"
	"fika/internal/chat/attachment"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/store"
)

// Imported is what was imported from a foreign folder.
type Imported struct {
	New      int // entries that were new here
	Entries  int // entries in the folder
	Unread   int // inbox messages that were new here
	Problems []folder.Problem
	More     int      // invalid lines beyond those in Problems
	Notes    []string // what a person should know about its texts
}

// Import imports what a context folder from anywhere holds: entries that are new here,
// the unread messages of its inbox, and the texts that the context does not have
// itself.
func (w *Worker) Import(ctx context.Context, c folder.Content) (Imported, error) {
	im := w.importer()
	got, err := im.importEntries(ctx, c)
	if err != nil {
		return got, err
	}
	for _, m := range c.Inbox { // in order: the next turn reads them
		posted, err := w.delivery().deliver(ctx, m)
		if err != nil {
			return got, err
		}
		if !posted.Repeat {
			got.Unread++
		}
	}
	if err := im.importTexts(c, &got); err != nil {
		return got, err
	}
	got.Notes = append(got.Notes, problemNotes(got.Problems, got.More)...)
	return got, nil
}

// importForeign imports the entries of a folder that was made elsewhere and put into
// contexts/ by hand, and returns when that folder was made according to its files. It
// runs before the mirror is opened, which would otherwise set the files aside as
// foreign. It can be repeated after an interruption, because entries are known by their
// ids.
func (w *Worker) importForeign(ctx context.Context) (madeAt time.Time, err error) {
	yes, err := w.Folder.Adoptable(ctx, w.entrySource())
	if err != nil || !yes {
		return madeAt, err
	}
	c, err := folder.ReadFolder(w.Folder.Path())
	if err != nil {
		return madeAt, err
	}
	got, err := w.importer().importEntries(ctx, c)
	if err != nil {
		return madeAt, err
	}
	w.notes = append(w.notes, fmt.Sprintf("context %q came from elsewhere: %d entries were taken over", w.Folder.Name, got.New))
	w.notes = append(w.notes, problemNotes(got.Problems, got.More)...)
	return c.CreatedAt, nil
}

// importer puts the contents of a foreign folder into an agent's ongoing conversation
// and its folder.
type importer struct {
	store  *store.Store
	agent  fika.Agent
	folder folder.Folder
}

// importEntries appends foreign entries to the active conversation. Everything that was
// in a window, here or there, is in the window afterwards; what the folder had archived
// is not.
func (im importer) importEntries(ctx context.Context, c folder.Content) (Imported, error) {
	got := Imported{Entries: c.CountArchived() + c.CountWindow(), Problems: c.Problems, More: c.More}
	conv, err := im.store.ActiveAsk(ctx, im.agent.ID)
	if err != nil {
		return got, err
	}
	before, err := im.windowRule(ctx, conv.ID)
	if err != nil {
		return got, err
	}
	if got.New, err = im.stream(ctx, conv.ID, c); err != nil {
		return got, err
	}
	if err := im.store.IndexWords(ctx, 0); err != nil { // not in the first search
		return got, err
	}
	want := func(e fika.Entry) bool {
		has, archived := c.HasEntry(e.ID)
		return !archived && (has || e.Seq <= conv.LastSeq && before(e.Seq))
	}
	return got, im.setWindow(ctx, conv.ID, want, c.Texts[folder.Summary])
}

// page is the most entries in memory at once, however many there are.
const page = 500

// stream passes the entries of a folder to the store, a page at a time.
func (im importer) stream(ctx context.Context, c fika.ConversationID, from folder.Content) (fresh int, err error) {
	to := im.store.NewImport(c)
	batch := make([]fika.Entry, 0, page)
	pictures, own := attachment.StoreIn(from.Path()), attachment.StoreIn(im.folder.Home.Root)
	add := func() error {
		for _, e := range batch {
			if _, err := pictures.CopyTo(own, e.Meta.Attachments); err != nil {
				return err
			}
		}
		n, err := to.Add(ctx, batch)
		fresh += n
		batch = batch[:0]
		return err
	}
	err = from.Each(func(e fika.Entry, _ bool) error {
		if batch = append(batch, e); len(batch) < page {
			return nil
		}
		return add()
	})
	if err == nil {
		err = add()
	}
	return fresh, err
}

// each reads a conversation, a page at a time.
func (im importer) each(ctx context.Context, c fika.ConversationID, fn func(fika.Entry)) error {
	for since := int64(0); ; {
		entries, err := im.store.Entries(ctx, store.EntryQuery{Conversation: c, Since: since, First: page})
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, e := range entries {
			fn(e)
		}
		since = entries[len(entries)-1].Seq
	}
}

// windowRule returns a function that reports which seqs of a conversation are in its
// window now.
func (im importer) windowRule(ctx context.Context, c fika.ConversationID) (func(int64) bool, error) {
	compactions, err := im.store.Entries(ctx, store.EntryQuery{Conversation: c, Types: []fika.EntryType{fika.Compaction}})
	return folder.WindowRule(compactions), err
}

// setWindow appends a compaction if the window differs from the wanted entries.
// Compactions themselves do not count, because no model reads them.
func (im importer) setWindow(ctx context.Context, c fika.ConversationID, want func(fika.Entry) bool, summary string) error {
	has, err := im.windowRule(ctx, c)
	if err != nil {
		return err
	}
	same, last := true, int64(0)
	var kept []int64
	if err := im.each(ctx, c, func(e fika.Entry) {
		last = e.Seq
		if e.Type == fika.Compaction {
			return
		}
		same = same && has(e.Seq) == want(e)
		if want(e) {
			kept = append(kept, e.Seq)
		}
	}); err != nil || same {
		return err
	}
	if mine, err := im.folder.Read(folder.Summary); err != nil {
		return err
	} else if s := strings.TrimSpace(mine.Body); s != "" {
		summary = s // a person's own summary stays
	}
	summary = strings.TrimSpace(summary)
	_, err = im.store.AppendCompaction(ctx, c, string(im.agent.Name), "archived before it came here",
		fika.EntryMeta{UpTo: last, Kept: kept, Summary: summary, Was: summary})
	return err
}

// importTexts writes the texts that the context does not have yet. It replaces nothing
// that a person wrote.
func (im importer) importTexts(c folder.Content, got *Imported) error {
	for _, k := range folder.TextKinds() {
		text := c.Texts[k]
		if strings.TrimSpace(text) == "" {
			continue
		}
		mine, err := im.folder.Read(k)
		if err != nil {
			return err
		}
		switch {
		case mine.Body == text:
		case strings.TrimSpace(mine.Body) != "":
			got.Notes = append(got.Notes, "kept the "+string(k)+".md that was here; the imported one was left out")
		default:
			if _, err := im.folder.WriteIf(k, mine.Hash, text); err != nil {
				return err
			}
		}
	}
	return im.importSettings(c.Local, got)
}

// importSettings copies a local.toml unchanged, if it is valid here.
func (im importer) importSettings(data []byte, got *Imported) error {
	if data == nil {
		return nil
	}
	path := im.folder.LocalConfig()
	if mine, err := os.ReadFile(path); err == nil {
		if string(mine) != string(data) {
			got.Notes = append(got.Notes, "kept the local.toml that was here; the imported one was left out")
		}
		return nil
	}
	if _, err := config.ParseLocal("local.toml", data); err != nil {
		path += ".imported"
		got.Notes = append(got.Notes, "its settings cannot be used as they are and were put into "+path+": "+err.Error())
	}
	return fika.Wrap(fika.Storage, "import settings", os.WriteFile(path, data, 0o600))
}

// problemNotes says which lines could not be understood, and quotes the first few.
func problemNotes(list []folder.Problem, more int) []string {
	const most = 3
	var notes []string
	for _, p := range list[:min(most, len(list))] {
		notes = append(notes, p.String())
	}
	if n := len(list) - most + more; n > 0 {
		notes = append(notes, fmt.Sprintf("%d more lines could not be understood", n))
	}
	return notes
}
