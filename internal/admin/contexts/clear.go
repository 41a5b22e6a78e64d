package contexts

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/extension/hook"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/worker"
)

// Clear takes everything said so far out of the window of a context and empties its
// summary. The entries stay, and messages that no turn has read stay in the window. It
// returns the number of messages removed, 0 when there was nothing to clear. Error
// kind Denied when a hook forbids it.
func Clear(ctx context.Context, a *app.App, name fika.AgentName, wait time.Duration, p app.Person) (n int, err error) {
	w, err := worker.OpenCommand(ctx, a, name, false, wait, p.Warn)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	c, err := newClearing(ctx, w)
	if err != nil || c.nothing() {
		return 0, err
	}
	n = c.messages
	hooks, err := worker.NewToolbox(a, w.Folder, w.Settings).OpenHooks(ctx, p)
	if err != nil {
		return 0, err
	}
	if _, err := hooks.Fire(ctx, hook.PreClear, hook.Payload{"context_name": string(name), "message_count": n, "summary": c.summary.Body}); err != nil {
		return 0, err
	}
	if err := c.commit(ctx, w); err != nil {
		return 0, err
	}
	if _, err := hooks.Fire(ctx, hook.PostClear, hook.Payload{"context_name": string(name)}); err != nil {
		p.Warn("post_clear: " + err.Error())
	}
	return n, nil
}

// clearing is what a context holds now and what is to be removed from it.
type clearing struct {
	conversation fika.ConversationID
	goes         int     // entries
	messages     int     // of them
	unread       []int64 // seqs of messages that stay
	summary      folder.Text
}

func newClearing(ctx context.Context, w *worker.Worker) (c clearing, err error) {
	conv, err := w.Store.ActiveAsk(ctx, w.Agent.ID)
	if err != nil {
		return c, err
	}
	c.conversation = conv.ID
	if c.summary, err = w.Folder.Read(folder.Summary); err != nil {
		return c, err
	}
	unread, err := worker.CountUnread(ctx, w.Store, conv)
	if err != nil {
		return c, err
	}
	r := Reader{Folder: w.Folder, Agent: &w.Agent, store: w.Store}
	n, err := r.extent(ctx, Part{})
	if err != nil {
		return c, err
	}
	if unread > 0 {
		err = ignoreEnough(r.backwards(ctx, func(e store.EntrySize) error {
			if e.Type == fika.Message && e.Request == "" {
				c.unread = append(c.unread, e.Seq)
			}
			if len(c.unread) == unread {
				return errEnough
			}
			return nil
		}))
	}
	slices.Reverse(c.unread)
	c.goes, c.messages = n.Entries-n.Compactions-len(c.unread), n.Messages-len(c.unread)
	return c, err
}

// nothing reports whether there is neither an entry nor a summary to remove.
func (c clearing) nothing() bool {
	return c.goes == 0 && strings.TrimSpace(c.summary.Body) == ""
}

// commit first takes the entries out of the window, then empties the summary; if a
// crash comes between the two, the next opening of the context does the second.
func (c clearing) commit(ctx context.Context, w *worker.Worker) error {
	conv, err := w.Store.ConversationByID(ctx, c.conversation)
	if err != nil {
		return err
	}
	meta := fika.EntryMeta{UpTo: max(conv.LastSeq, 1), Kept: c.unread, Was: strings.TrimSpace(c.summary.Body)}
	entry, err := w.Store.AppendCompaction(ctx, conv.ID, string(w.Agent.Name), "cleared", meta)
	if err != nil {
		return err
	}
	if c.summary.Body != "" {
		if _, err := w.Folder.WriteIf(folder.Summary, c.summary.Hash, ""); err != nil {
			return err
		}
	}
	return w.Mirror.Append(ctx, entry)
}
