package worker

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/settings/folder"
	"fika/internal/store"
)

// inboxEvery is how often an empty inbox is read while it is being rechecked.
const inboxEvery = 2 * time.Second

// inboxAgain is how long an inbox is rechecked after something was found in it, for
// lines that were written late. After that, folder.Lock deletes it.
const inboxAgain = time.Minute

// inbox is the file in which other programs leave messages for a locked context. It
// must be used from one goroutine.
type inbox struct {
	folder   folder.Folder
	lock     *folder.Lock
	delivery delivery
	warn     func(string)
	found    time.Time // when something was last found
	looked   time.Time // when it was last read
	told     string    // the last trouble, reported once
}

func (w *Worker) newInbox(warn func(string)) *inbox {
	return &inbox{folder: w.Folder, lock: w.lock, delivery: w.delivery(), warn: warn, found: w.App.Now()}
}

// drain stores the messages of the inbox, in order, each under its id, so that a repeat
// after a crash changes nothing. After that the file may be removed.
func (in *inbox) drain(ctx context.Context) error {
	for {
		batch, err := in.lock.TakeInbox()
		if err != nil {
			return err
		}
		for _, m := range batch.Messages {
			if _, err := in.delivery.deliver(ctx, m); err != nil {
				return err
			}
		}
		if len(batch.Messages)+len(batch.Problems) > 0 {
			in.found = in.delivery.app.Now()
		}
		for _, p := range batch.Problems {
			in.warn(p.String() + " (kept in inbox.rejected.jsonl)")
		}
		if err := batch.MarkStored(); err != nil || !batch.More {
			return err
		}
	}
}

// poll drains the inbox if there may be something in it, at the cost of a stat. It
// never fails: what could not be stored is there the next time.
func (in *inbox) poll(ctx context.Context) {
	info, err := os.Lstat(filepath.Join(in.folder.Path(), "inbox.jsonl"))
	filled := err == nil && info.Size() > 0
	now := in.delivery.app.Now()
	if !filled && (now.Sub(in.found) > inboxAgain || now.Sub(in.looked) < inboxEvery) {
		return
	}
	in.looked = now
	trouble := ""
	if err := in.drain(ctx); err != nil {
		trouble = "the inbox is not read: " + err.Error()
	}
	if trouble != "" && trouble != in.told {
		in.warn(trouble)
	}
	in.told = trouble
}

// delivery puts inbox messages into an agent's ongoing conversation.
type delivery struct {
	app   *app.App
	store *store.Store
	to    fika.AgentID
}

func (w *Worker) delivery() delivery { return delivery{app: w.App, store: w.Store, to: w.Agent.ID} }

func (d delivery) deliver(ctx context.Context, m folder.InboxMessage) (store.Posted, error) {
	from, err := d.sender(ctx, m.From)
	if err != nil {
		return store.Posted{}, err
	}
	return d.store.Deliver(ctx, store.Send{
		To: d.to, ID: m.ID, From: from, Writer: fika.ByTool, WriterName: "inbox.jsonl",
		Content: m.Content, At: m.At, Taint: "inbox.jsonl",
	})
}

// sender returns the sender of a message as it is shown. The name of an agent, which
// anybody can write into a file, is followed by the file's name.
func (d delivery) sender(ctx context.Context, name string) (string, error) {
	err := d.app.MayBeCalled(ctx, name)
	switch {
	case fika.IsKind(err, fika.Denied):
		return name + " (inbox.jsonl)", nil
	case fika.IsKind(err, fika.Invalid):
		return name, nil
	}
	return name, err
}

// Queue is the store as an agent's process asks it for work. Each call first reads the
// inbox of the context.
type Queue struct {
	*store.Store
	inbox *inbox
}

// TakeInbox stores the messages in the inbox.
func (q Queue) TakeInbox(ctx context.Context) { q.inbox.poll(ctx) }

// Look stores the messages in the inbox, and then looks as [store.Store] does.
func (q Queue) Look(ctx context.Context, lease store.Lease) (store.Looked, error) {
	q.inbox.poll(ctx)
	seen, err := q.Store.Look(ctx, lease)
	if takes := q.inbox.delivery.app.BoardOf(q.inbox.folder.Name); err == nil && !seen.Work && seen.Tasks && takes != nil {
		seen.Work, err = q.MayTake(ctx, lease.Agent, *takes)
	}
	return seen, err
}

// Claim stores the messages in the inbox, and then claims as [store.Store] does.
func (q Queue) Claim(ctx context.Context, lease store.Lease, limits store.Limits, worked func(fika.RequestID) bool) (*store.Claimed, error) {
	q.inbox.poll(ctx)
	return q.Store.Claim(ctx, lease, limits, worked)
}

// ClaimNow stores the messages in the inbox, and then claims as [store.Store] does.
func (q Queue) ClaimNow(ctx context.Context, lease store.Lease, limits store.Limits, worked func(fika.RequestID) bool) (*store.Claimed, error) {
	q.inbox.poll(ctx)
	return q.Store.ClaimNow(ctx, lease, limits, worked)
}
