package nats

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"fika"
	"fika/internal/bus"
)

// tells gives a handler that sends the ids of lost requests on, and takes all.
func tells() (<-chan string, func(context.Context, bus.Msg) error) {
	c := make(chan string, 1024)
	return c, func(_ context.Context, m bus.Msg) error {
		if m.Lost != nil {
			c <- m.Lost.ID
		}
		return nil
	}
}

func lostIDs(t *testing.T, runDir string) map[string]bool {
	t.Helper()
	list, err := LostRequests(runDir)
	must(t, err)
	ids := map[string]bool{}
	for _, l := range list {
		ids[l.ID] = true
	}
	return ids
}

// TestD12FolderGone: whatever a server acknowledged before it was killed is told
// of when its folder is gone, until it is sent again or somebody acknowledges it.
func TestD12FolderGone(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), deadline(t)
	p := spawn(t, dir)
	client, err := Dial(ctx, Options{Redial: RedialFrom(dir, UserMember)})
	must(t, err)
	js, err := jetstream.New(client.(*conn).nc)
	must(t, err)
	const n = 100
	for i := range n {
		must(t, publish(ctx, js, request(fmt.Sprint(i))))
	}
	p.kill()
	must(t, client.Close())
	must(t, os.RemoveAll(filepath.Join(dir, "jetstream")))

	h := &home{dir: dir}
	h.up(t)
	defer h.down(t)
	in := newInbox(t, h, 0)
	lost, handler := tells()
	in.consume(t, handler)
	seen := map[string]bool{}
	for range n {
		seen[next(t, lost)] = true
	}
	// The note of the last one is written after it was told.
	must(t, in.Probe(ctx, patience))
	if got := lostIDs(t, dir); len(seen) != n || len(got) != n {
		t.Fatalf("told of %d of %d, noted %d", len(seen), n, len(got))
	}
	must(t, publish(ctx, in.foreign, request("7")))
	for lostIDs(t, dir)["7"] {
		must(t, in.Probe(ctx, patience))
	}
	must(t, AcknowledgeLost(dir))
	must(t, in.Probe(ctx, patience))
	if got := lostIDs(t, dir); len(got) != 0 {
		t.Errorf("acknowledged, and still there: %v", got)
	}
}

// TestD12LostWhileUp: what goes from a stream that is in use is noticed by the
// probe, and what is a row by then is not called lost.
func TestD12LostWhileUp(t *testing.T) {
	h := newHome(t)
	in := newInbox(t, h, 0)
	for _, id := range []string{"known", "gone"} {
		in.send(t, request(id))
	}
	told := make(chan string, 16)
	busy := fika.Errorf(fika.Storage, "", "the database is busy")
	in.consume(t, func(_ context.Context, m bus.Msg) error {
		switch {
		case m.Lost == nil:
			return busy
		case m.Lost.ID == "known":
			return fika.Errorf(fika.Conflict, "", "it is done")
		}
		told <- m.Lost.ID
		return nil
	})
	must(t, in.Probe(deadline(t), patience))
	if got := lostIDs(t, h.dir); len(got) != 0 {
		t.Fatalf("nothing is gone yet: %v", got)
	}
	must(t, in.openedStream().Purge(deadline(t)))
	in.own.wait = 0
	for range 2 { // at once, and again for a sender who was not there
		must(t, in.Probe(deadline(t), patience))
		if id := next(t, told); id != "gone" {
			t.Errorf("told of %q", id)
		}
	}
	if got := lostIDs(t, h.dir); len(got) != 1 || !got["gone"] {
		t.Errorf("lost are %v", got)
	}
	if left := h.server.receipts.pendingReceipts(); len(left) != 0 {
		t.Errorf("receipts are left: %v", left)
	}
}

// TestD12Receipts: the file is read as it was left, by a kill in the middle of a
// line too; a line that was damaged is counted.
func TestD12Receipts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, err := openReceipts(dir)
	must(t, err)
	r.noteRead("b") // by a reader that is quicker than the receipt
	must(t, r.addDurably([]receipt{{Key: "a", Seq: 1}, {Key: "b", Seq: 2}, {Key: "c", Seq: 3}}))
	r.noteRead("a")
	must(t, r.flushRead())
	data, err := os.ReadFile(receiptsPath(dir))
	must(t, err)
	for cut := range len(data) {
		cutDir := t.TempDir()
		must(t, os.WriteFile(receiptsPath(cutDir), data[:cut], 0o600))
		again, err := openReceipts(cutDir)
		must(t, err)
		if again.unreadable != 0 || len(again.open) > 2 {
			t.Fatalf("cut at %d: %d unreadable, open %v", cut, again.unreadable, again.open)
		}
		must(t, again.closeFile())
	}
	data[len(data)/4] ^= 1
	must(t, os.WriteFile(receiptsPath(dir), data, 0o600))
	again, err := openReceipts(dir)
	must(t, err)
	if n := again.takeUnreadable(); n != 1 || again.takeUnreadable() != 0 {
		t.Errorf("%d lines are unreadable", n)
	}
	r.noteRead("c")
	must(t, again.closeFile())
	must(t, r.closeFile())
	if info, err := os.Stat(receiptsPath(dir)); err != nil || info.Size() != 0 {
		t.Errorf("what is read uses space: %v %v", info.Size(), err)
	}
}

// TestD12ReaderPassesOver: a consumer whose own note says that it has read more
// than became rows does not keep the rest from the hub.
func TestD12ReaderPassesOver(t *testing.T) {
	h := newHome(t)
	in := newInbox(t, h, 0)
	in.send(t, request("passed over"))
	cons, err := in.openConsumer(deadline(t))
	must(t, err)
	m, err := cons.Next()
	must(t, err)
	must(t, m.DoubleAck(deadline(t)))
	got, handler := collect()
	in.consume(t, handler)
	if body := next(t, got); body != request("passed over") {
		t.Errorf("got %s", body)
	}
}
