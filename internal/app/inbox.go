package app

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"fika"
	"fika/internal/folder"
	"fika/internal/store"
)

// inboxAgain is how long a taken inbox is looked at again for lines that were
// written late; folder.Lock deletes it after that.
const inboxAgain = time.Minute

// inbox is the file in which other programs leave messages for an owned
// context. It is used from one goroutine.
type inbox struct {
	own    *Owned
	warn   func(string)
	taken  time.Time // when something was found last
	looked time.Time // when it was looked into last
	told   string    // the last trouble, said once
}

// take stores what the inbox holds, in its order, each message under its id:
// a repeat after a crash changes nothing. Then the file may go.
func (in *inbox) take(ctx context.Context) error {
	for {
		batch, err := in.own.lock.TakeInbox()
		if err != nil {
			return err
		}
		for _, m := range batch.Messages {
			if _, err := in.deliver(ctx, m); err != nil {
				return err
			}
		}
		if len(batch.Messages)+len(batch.Problems) > 0 {
			in.taken = in.own.App.Now()
		}
		for _, p := range batch.Problems {
			in.warn(p.String() + " (kept in inbox.rejected.jsonl)")
		}
		if err := batch.Done(); err != nil || !batch.More {
			return err
		}
	}
}

// deliver puts a message of an inbox into the conversation.
func (in *inbox) deliver(ctx context.Context, m folder.InboxMessage) (store.Posted, error) {
	from, err := in.sender(ctx, m.From)
	if err != nil {
		return store.Posted{}, err
	}
	return in.own.Store.Deliver(ctx, store.Send{
		To: in.own.Agent.ID, ID: m.ID, From: from, Writer: fika.ByTool, WriterName: "inbox.jsonl",
		Content: m.Content, At: m.At,
	})
}

// sender is who a message is from, as it is shown: the name of an agent, which
// anybody can write into a file, gets the file's name behind it.
func (in *inbox) sender(ctx context.Context, name string) (string, error) {
	err := in.own.App.MayBeCalled(ctx, name)
	switch {
	case fika.IsKind(err, fika.Denied):
		return name + " (inbox.jsonl)", nil
	case fika.IsKind(err, fika.Invalid):
		return name, nil
	}
	return name, err
}

// look takes the inbox if there may be something in it; it costs a stat. It
// never fails: what could not be taken is there the next time.
func (in *inbox) look(ctx context.Context) {
	info, err := os.Lstat(filepath.Join(in.own.Folder.Path(), "inbox.jsonl"))
	filled := err == nil && info.Size() > 0
	now := in.own.App.Now()
	if !filled && (now.Sub(in.taken) > inboxAgain || now.Sub(in.looked) < pollTime) {
		return
	}
	in.looked = now
	trouble := ""
	if err := in.take(ctx); err != nil {
		trouble = "the inbox is not read: " + err.Error()
	}
	if trouble != "" && trouble != in.told {
		in.warn(trouble)
	}
	in.told = trouble
}

// listening looks into the inbox whenever the agent looks for work.
type listening struct {
	*store.Store
	inbox *inbox
}

// Claim implements [store.Queue].
func (l listening) Claim(ctx context.Context, lease store.Lease, limits store.Limits) (*store.Claimed, error) {
	l.inbox.look(ctx)
	return l.Store.Claim(ctx, lease, limits)
}
