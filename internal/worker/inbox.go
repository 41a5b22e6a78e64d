package worker

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/folder"
	"fika/internal/store"
)

// inboxEvery is how often an empty inbox is looked into while it is looked at
// again.
const inboxEvery = 2 * time.Second

// inboxAgain is how long an inbox is looked at again, after something was found
// in it, for lines that were written late; folder.Lock deletes it after that.
const inboxAgain = time.Minute

// inbox is the file in which other programs leave messages for a locked
// context. It is used from one goroutine.
type inbox struct {
	folder   folder.Folder
	lock     *folder.Lock
	delivery delivery
	warn     func(string)
	found    time.Time // when something was found last
	looked   time.Time // when it was looked into last
	told     string    // the last trouble, said once
}

func (w *Worker) newInbox(warn func(string)) *inbox {
	return &inbox{folder: w.Folder, lock: w.lock, delivery: w.delivery(), warn: warn, found: w.App.Now()}
}

// drain stores what the inbox holds, in its order, each message under its id:
// a repeat after a crash changes nothing. Then the file may go.
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

// poll drains the inbox if there may be something in it; it costs a stat. It
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

// delivery puts messages of an inbox into an agent's ongoing conversation.
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

// sender is who a message is from, as it is shown: the name of an agent, which
// anybody can write into a file, gets the file's name behind it.
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

// Queue is the store as an agent's process asks it for work: it looks into the
// inbox of the context each time, whichever way it is asked.
type Queue struct {
	*store.Store
	inbox *inbox
}

// Look stores what is in the inbox, and looks then as [store.Store] does.
func (q Queue) Look(ctx context.Context, lease store.Lease) (store.Looked, error) {
	q.inbox.poll(ctx)
	return q.Store.Look(ctx, lease)
}

// Claim stores what is in the inbox, and claims then as [store.Store] does.
func (q Queue) Claim(ctx context.Context, lease store.Lease, limits store.Limits, worked func(fika.RequestID) bool) (*store.Claimed, error) {
	q.inbox.poll(ctx)
	return q.Store.Claim(ctx, lease, limits, worked)
}

// ClaimNow stores what is in the inbox, and claims then as [store.Store] does.
func (q Queue) ClaimNow(ctx context.Context, lease store.Lease, limits store.Limits, worked func(fika.RequestID) bool) (*store.Claimed, error) {
	q.inbox.poll(ctx)
	return q.Store.ClaimNow(ctx, lease, limits, worked)
}
