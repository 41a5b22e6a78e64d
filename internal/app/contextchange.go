package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/config"
	"fika/internal/folder"
	"fika/internal/hook"
	"fika/internal/store"
)

// command takes a context for a change that asks no model. What a crash left
// behind is settled first.
func (a *App) command(ctx context.Context, name fika.AgentName, must bool, wait time.Duration, warn func(string)) (*Owned, error) {
	own, err := a.Own(ctx, OwnOptions{Name: name, Kind: folder.LockCommand, Wait: wait, Must: must, Plain: true})
	if err != nil {
		return nil, err
	}
	for _, note := range own.Notes() {
		warn(note)
	}
	if err := own.recoverForeground(ctx, warn); err != nil {
		return nil, errors.Join(err, own.Close())
	}
	return own, nil
}

// lockFolder takes the folder's lock alone, for what needs no database.
func (a *App) lockFolder(ctx context.Context, f folder.Folder, wait time.Duration) (*folder.Lock, error) {
	settings, err := a.PlainSettings(f.Name)
	if err != nil {
		return nil, err
	}
	o := folder.LockOptions{Kind: folder.LockCommand, Heartbeat: settings.LockHeartbeat}
	return takeLock(ctx, f, o, wait)
}

// takeLock takes a folder's lock, waiting for it as long as wait says. Whoever
// only brings its files up to date is waited for in any case: that is over in
// a moment.
func takeLock(ctx context.Context, f folder.Folder, o folder.LockOptions, wait time.Duration) (*folder.Lock, error) {
	if wait <= 0 {
		l, err := folder.TryLock(ctx, f, o)
		var held *folder.HeldError
		if !errors.As(err, &held) || held.Info.Kind != folder.LockMirror {
			return l, err
		}
		wait = mirrorPatience
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return folder.WaitLock(waiting, f, o)
}

// mirrorPatience is how long the writing of a context's files is waited for.
const mirrorPatience = 5 * time.Second

// SetPrompt writes the system prompt of a context, made if it is missing; an
// empty one takes the file away, so that the default counts again.
func (a *App) SetPrompt(ctx context.Context, name fika.AgentName, text string, wait time.Duration) error {
	h, err := a.Home()
	if err != nil {
		return err
	}
	f, _, err := h.Ensure(name)
	if err != nil {
		return err
	}
	return a.writePrompt(ctx, f, text, wait)
}

func (a *App) writePrompt(ctx context.Context, f folder.Folder, text string, wait time.Duration) error {
	lock, err := a.lockFolder(ctx, f, wait)
	if err != nil {
		return err
	}
	if text == "" {
		err = os.Remove(f.TextPath(folder.SystemPrompt))
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		err = fika.Wrap(fika.Storage, "clear prompt", err)
	} else {
		err = f.Write(folder.SystemPrompt, strings.TrimRight(text, "\n")+"\n")
	}
	return errors.Join(err, lock.Close())
}

// ClearContext takes everything said so far out of the window of a context and
// empties its summary; the entries stay. It tells how many messages that were:
// 0 when there was nothing to clear. Denied when a hook forbids it.
func (a *App) ClearContext(ctx context.Context, name fika.AgentName, wait time.Duration, p Person) (n int, err error) {
	own, err := a.command(ctx, name, false, wait, p.Warn)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	conv, err := own.Store.ActiveAsk(ctx, own.Agent.ID)
	if err != nil {
		return 0, err
	}
	window, err := own.window(ctx, conv.ID)
	if err != nil {
		return 0, err
	}
	summary, err := own.Folder.Read(folder.Summary)
	if err != nil {
		return 0, err
	}
	unread, err := own.unread(ctx, conv.ID, window)
	if err != nil {
		return 0, err
	}
	spoken := -len(unread)
	for _, e := range window {
		if e.Type != fika.Compaction {
			spoken++
		}
		if e.Type == fika.Message {
			n++
		}
	}
	n -= len(unread)
	if spoken == 0 && strings.TrimSpace(summary.Body) == "" {
		return 0, nil
	}
	hooks, err := own.hooks(ctx, p)
	if err != nil {
		return 0, err
	}
	if _, err := hooks.Fire(ctx, hook.PreClear, hook.Payload{"context_name": string(name), "message_count": n, "summary": summary.Body}); err != nil {
		return 0, err
	}
	if err := own.clear(ctx, conv, summary, unread); err != nil {
		return 0, err
	}
	if _, err := hooks.Fire(ctx, hook.PostClear, hook.Payload{"context_name": string(name)}); err != nil {
		p.Warn("post_clear: " + err.Error())
	}
	return n, nil
}

// unread gives the seqs of messages that came in and that no turn has read:
// they stay for the next one.
func (own *Owned) unread(ctx context.Context, c fika.ConversationID, window []fika.Entry) ([]int64, error) {
	list, err := own.Store.ListConversations(ctx, store.ConversationFilter{Kind: fika.Ask, Agent: own.Agent.ID})
	if err != nil {
		return nil, err
	}
	pending := 0
	for _, i := range list {
		if i.ID == c {
			pending = i.Pending
		}
	}
	var seqs []int64
	for _, e := range slices.Backward(window) {
		if len(seqs) < pending && e.Type == fika.Message && e.Request == "" {
			seqs = append(seqs, e.Seq)
		}
	}
	slices.Reverse(seqs)
	return seqs, nil
}

// clear commits first and empties the summary then; what a crash leaves
// undone between the two, the next opening does.
func (own *Owned) clear(ctx context.Context, conv fika.Conversation, summary folder.Text, unread []int64) error {
	conv, err := own.Store.ConversationByID(ctx, conv.ID)
	if err != nil {
		return err
	}
	meta := fika.EntryMeta{UpTo: max(conv.LastSeq, 1), Kept: unread, Was: strings.TrimSpace(summary.Body)}
	entry, err := own.Store.AppendCompaction(ctx, conv.ID, string(own.Agent.Name), "cleared", meta)
	if err != nil {
		return err
	}
	if summary.Body != "" {
		if _, err := own.Folder.WriteIf(folder.Summary, summary.Hash, ""); err != nil {
			return err
		}
	}
	return own.Mirror.Append(ctx, entry)
}

// RenameContext gives a context another name, in the folders and in the
// database. Interrupted between the two, the same call finishes it.
func (a *App) RenameContext(ctx context.Context, from, to fika.AgentName, wait time.Duration, p Person) (err error) {
	h, err := a.Home()
	if err != nil {
		return err
	}
	s, err := a.Store(ctx)
	if err != nil {
		return err
	}
	taken, err := FindRow(ctx, s, to)
	if err != nil {
		return err
	}
	if taken != nil {
		return fika.Errorf(fika.Conflict, "", "an agent named %q exists already", to)
	}
	if _, err := folder.OpenFolder(h, from); fika.IsKind(err, fika.NotFound) {
		return a.finishRename(ctx, h, from, to, err)
	}
	own, err := a.command(ctx, from, true, wait, p.Warn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	if err := own.lock.Rename(to); err != nil {
		return err
	}
	own.Folder = h.Folder(to)
	if err := s.RenameAgent(ctx, own.Agent.ID, to); err != nil {
		return errors.Join(err, own.lock.Rename(from))
	}
	if own.Settings.Entry {
		p.Warn("config.toml has an [[agents]] entry with the id " + string(from) + ": change it too, or the hub makes that agent anew")
	}
	return nil
}

// finishRename ends a renaming that was interrupted after the folder had its
// new name.
func (a *App) finishRename(ctx context.Context, h folder.Home, from, to fika.AgentName, missing error) error {
	row, err := FindRow(ctx, a.store, from)
	if err != nil {
		return err
	}
	f, openErr := folder.OpenFolder(h, to)
	if row == nil || openErr != nil {
		return missing
	}
	lock, err := a.lockFolder(ctx, f, 0)
	if err != nil {
		return err
	}
	return errors.Join(a.store.RenameAgent(ctx, row.ID, to), lock.Close())
}

// DeleteContext removes a context: its agent with all conversations of its
// own, then its folder. What it said in chats stays. Interrupted, the same call
// finishes it. NotFound when there is neither folder nor agent.
func (a *App) DeleteContext(ctx context.Context, name fika.AgentName, wait time.Duration, p Person) error {
	h, err := a.Home()
	if err != nil {
		return err
	}
	f, err := folder.OpenFolder(h, name)
	if fika.IsKind(err, fika.NotFound) {
		return a.deleteOrphan(ctx, h, name, err)
	}
	if err != nil {
		return err
	}
	lock, err := a.lockFolder(ctx, f, wait)
	if err != nil {
		return err
	}
	defer lock.Close()
	s, err := a.Store(ctx)
	if err != nil {
		return err
	}
	row, err := FindRow(ctx, s, name)
	if err != nil {
		return err
	}
	if row != nil {
		if err := a.deleteAgent(ctx, h, *row); err != nil {
			return err
		}
	}
	if c, err := a.Config(); err == nil && c.Agent(name) != nil {
		p.Warn("config.toml has an [[agents]] entry for " + string(name) + ": the hub makes it anew unless you take that out")
	}
	return lock.Remove()
}

// deleteOrphan removes an agent of this home whose folder is gone already.
func (a *App) deleteOrphan(ctx context.Context, h folder.Home, name fika.AgentName, missing error) error {
	s, err := a.Store(ctx)
	if err != nil {
		return err
	}
	row, err := FindRow(ctx, s, name)
	if err != nil {
		return err
	}
	if row == nil {
		return missing
	}
	return a.deleteAgent(ctx, h, *row)
}

// deleteAgent removes the row of an agent that this home owns. The lease of a
// dead owner is taken over first: the folder's lock, or its absence, permits
// it.
func (a *App) deleteAgent(ctx context.Context, h folder.Home, row fika.Agent) error {
	home, err := h.ID()
	if err != nil {
		return err
	}
	if row.HomeID != home {
		return fika.Errorf(fika.Denied, "", "agent %q belongs to another home (%s): delete it there", row.Name, row.HomeID)
	}
	lease, err := a.store.Acquire(ctx, row.ID, "delete", leaseTime, true)
	if err != nil {
		return err
	}
	if err := a.store.Release(ctx, lease); err != nil {
		return err
	}
	return a.store.DeleteAgent(ctx, row.ID)
}

// ImportContext takes over what a context folder from anywhere holds: entries
// that are not here yet, and the texts that the context does not have of its
// own. The context is made if it is missing. NotFound when path is no folder
// or holds nothing of a context.
func (a *App) ImportContext(ctx context.Context, name fika.AgentName, path string, wait time.Duration, p Person) (got Imported, err error) {
	c, err := folder.ReadFolder(path)
	if err != nil {
		return got, err
	}
	if len(c.Sources) == 0 && len(c.Texts) == 0 && len(c.Inbox) == 0 && c.Local == nil {
		return got, fika.Errorf(fika.NotFound, "", "%s holds no context: neither entries nor texts", path)
	}
	own, err := a.command(ctx, name, false, wait, p.Warn)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	if abs, err := filepath.Abs(path); err == nil && abs == own.Folder.Path() {
		return got, fika.Errorf(fika.Invalid, "", "%s is the folder of context %q itself: nothing to import", path, name)
	}
	if got, err = own.takeIn(ctx, c); err != nil {
		return got, err
	}
	if err := own.takeUnread(ctx, c, &got); err != nil {
		return got, err
	}
	if err := own.takeTexts(c, &got); err != nil {
		return got, err
	}
	if err := own.Mirror.MadeAt(c.CreatedAt); err != nil {
		p.Warn(err.Error())
	}
	if err := own.Mirror.Sync(ctx); err != nil {
		p.Warn(err.Error())
	}
	got.Notes = append(got.Notes, problemNotes(got.Problems)...)
	return got, nil
}

// takeTexts writes the texts that the context does not have yet. Nothing a
// person wrote is replaced.
func (own *Owned) takeTexts(c folder.Content, got *Imported) error {
	for _, k := range folder.TextKinds() {
		text := c.Texts[k]
		if strings.TrimSpace(text) == "" {
			continue
		}
		mine, err := own.Folder.Read(k)
		if err != nil {
			return err
		}
		switch {
		case mine.Body == text:
		case strings.TrimSpace(mine.Body) != "":
			got.Notes = append(got.Notes, "kept the "+string(k)+".md that was here; the imported one was left out")
		default:
			if _, err := own.Folder.WriteIf(k, mine.Hash, text); err != nil {
				return err
			}
		}
	}
	return own.takeLocal(c.Local, got)
}

// takeLocal takes a local.toml over as it is, if it is valid here.
func (own *Owned) takeLocal(data []byte, got *Imported) error {
	if data == nil {
		return nil
	}
	path := own.Folder.LocalConfig()
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

// ExportContext writes a copy of a context into the new folder path, from
// which it can be made again on another machine, by import or by putting it
// into contexts/. It returns how many entries that are.
func (a *App) ExportContext(ctx context.Context, name fika.AgentName, path string) (int, error) {
	h, err := a.Home()
	if err != nil {
		return 0, err
	}
	f, err := folder.OpenFolder(h, name)
	if err != nil {
		return 0, err
	}
	r, err := a.ReadContext(ctx, f)
	if err != nil {
		return 0, err
	}
	entries, err := r.All(ctx)
	if err != nil {
		return 0, err
	}
	return len(entries), f.Export(path, entries)
}
