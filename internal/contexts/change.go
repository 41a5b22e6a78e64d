package contexts

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/folder"
	"fika/internal/hook"
	"fika/internal/store"
	"fika/internal/worker"
)

// Clear takes everything said so far out of the window of a context and
// empties its summary; the entries stay. It tells how many messages that were:
// 0 when there was nothing to clear. Denied when a hook forbids it.
func Clear(ctx context.Context, a *app.App, name fika.AgentName, wait time.Duration, p app.Person) (n int, err error) {
	w, err := worker.OpenCommand(ctx, a, name, false, wait, p.Warn)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	conv, err := w.Store.ActiveAsk(ctx, w.Agent.ID)
	if err != nil {
		return 0, err
	}
	window, err := worker.ReadWindow(ctx, w.Store, conv.ID)
	if err != nil {
		return 0, err
	}
	summary, err := w.Folder.Read(folder.Summary)
	if err != nil {
		return 0, err
	}
	unread, err := unreadIn(ctx, w, conv.ID, window)
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
	hooks, err := worker.NewToolbox(a, w.Folder, w.Settings).OpenHooks(ctx, p)
	if err != nil {
		return 0, err
	}
	if _, err := hooks.Fire(ctx, hook.PreClear, hook.Payload{"context_name": string(name), "message_count": n, "summary": summary.Body}); err != nil {
		return 0, err
	}
	if err := clearWindow(ctx, w, conv, summary, unread); err != nil {
		return 0, err
	}
	if _, err := hooks.Fire(ctx, hook.PostClear, hook.Payload{"context_name": string(name)}); err != nil {
		p.Warn("post_clear: " + err.Error())
	}
	return n, nil
}

// unreadIn returns the seqs of messages that came in and that no turn has read:
// they stay for the next one.
func unreadIn(ctx context.Context, w *worker.Worker, c fika.ConversationID, window []fika.Entry) ([]int64, error) {
	list, err := w.Store.ListConversations(ctx, store.ConversationFilter{Kind: fika.Ask, Agent: w.Agent.ID})
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

// clearWindow commits first and empties the summary then; what a crash leaves
// undone between the two, the next opening does.
func clearWindow(ctx context.Context, w *worker.Worker, conv fika.Conversation, summary folder.Text, unread []int64) error {
	conv, err := w.Store.ConversationByID(ctx, conv.ID)
	if err != nil {
		return err
	}
	meta := fika.EntryMeta{UpTo: max(conv.LastSeq, 1), Kept: unread, Was: strings.TrimSpace(summary.Body)}
	entry, err := w.Store.AppendCompaction(ctx, conv.ID, string(w.Agent.Name), "cleared", meta)
	if err != nil {
		return err
	}
	if summary.Body != "" {
		if _, err := w.Folder.WriteIf(folder.Summary, summary.Hash, ""); err != nil {
			return err
		}
	}
	return w.Mirror.Append(ctx, entry)
}

// Rename gives a context another name, in the folders and in the
// database. Interrupted between the two, the same call finishes it.
func Rename(ctx context.Context, a *app.App, from, to fika.AgentName, wait time.Duration, p app.Person) (err error) {
	h, err := a.Home()
	if err != nil {
		return err
	}
	s, err := a.Store(ctx)
	if err != nil {
		return err
	}
	taken, err := app.FindRow(ctx, s, to)
	if err != nil {
		return err
	}
	if taken != nil {
		return fika.Errorf(fika.Conflict, "", "an agent named %q exists already", to)
	}
	if _, err := folder.OpenFolder(h, from); fika.IsKind(err, fika.NotFound) {
		return finishRename(ctx, a, s, from, to, err)
	}
	w, err := worker.OpenCommand(ctx, a, from, true, wait, p.Warn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := w.Rename(to); err != nil {
		return err
	}
	if err := s.RenameAgent(ctx, w.Agent.ID, to); err != nil {
		return errors.Join(err, w.Rename(from))
	}
	if w.Settings.Entry {
		p.Warn("config.toml has an [[agents]] entry with the id " + string(from) + ": change it too, or the hub makes that agent anew")
	}
	return nil
}

// finishRename ends a renaming that was interrupted after the folder had its
// new name.
func finishRename(ctx context.Context, a *app.App, s *store.Store, from, to fika.AgentName, missing error) error {
	row, err := app.FindRow(ctx, s, from)
	if err != nil {
		return err
	}
	h, err := a.Home()
	if err != nil {
		return err
	}
	f, openErr := folder.OpenFolder(h, to)
	if row == nil || openErr != nil {
		return missing
	}
	lock, err := worker.LockFolder(ctx, a, f, 0)
	if err != nil {
		return err
	}
	return errors.Join(s.RenameAgent(ctx, row.ID, to), lock.Close())
}

// Delete removes a context: its agent with all conversations of its
// own, then its folder. What it said in chats stays. Interrupted, the same call
// finishes it. NotFound when there is neither folder nor agent.
func Delete(ctx context.Context, a *app.App, name fika.AgentName, wait time.Duration, p app.Person) error {
	h, err := a.Home()
	if err != nil {
		return err
	}
	f, err := folder.OpenFolder(h, name)
	if fika.IsKind(err, fika.NotFound) {
		return deleteOrphan(ctx, a, h, name, err)
	}
	if err != nil {
		return err
	}
	lock, err := worker.LockFolder(ctx, a, f, wait)
	if err != nil {
		return err
	}
	defer lock.Close()
	s, err := a.Store(ctx)
	if err != nil {
		return err
	}
	row, err := app.FindRow(ctx, s, name)
	if err != nil {
		return err
	}
	if row != nil {
		if err := deleteAgent(ctx, s, h, *row); err != nil {
			return err
		}
	}
	if c, err := a.Config(); err == nil && c.Agent(name) != nil {
		p.Warn("config.toml has an [[agents]] entry for " + string(name) + ": the hub makes it anew unless you take that out")
	}
	return lock.Remove()
}

// deleteOrphan removes an agent of this home whose folder is gone already.
func deleteOrphan(ctx context.Context, a *app.App, h folder.Home, name fika.AgentName, missing error) error {
	s, err := a.Store(ctx)
	if err != nil {
		return err
	}
	row, err := app.FindRow(ctx, s, name)
	if err != nil {
		return err
	}
	if row == nil {
		return missing
	}
	return deleteAgent(ctx, s, h, *row)
}

// deleteAgent removes the row of an agent that this home owns. The lease of a
// dead owner is taken over first: the folder's lock, or its absence, permits
// it.
func deleteAgent(ctx context.Context, s *store.Store, h folder.Home, row fika.Agent) error {
	home, err := h.ID()
	if err != nil {
		return err
	}
	if row.HomeID != home {
		return fika.Errorf(fika.Denied, "", "agent %q belongs to another home (%s): delete it there", row.Name, row.HomeID)
	}
	lease, err := s.Acquire(ctx, row.ID, "delete", worker.LeaseTime, true)
	if err != nil {
		return err
	}
	if err := s.Release(ctx, lease); err != nil {
		return err
	}
	return s.DeleteAgent(ctx, row.ID)
}
