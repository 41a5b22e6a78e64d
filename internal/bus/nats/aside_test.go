package nats

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fika/internal/bus"
)

// spoil damages one file or folder in one way, and reports whether that way
// exists for it.
func spoil(t *testing.T, path, how string) bool {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	data, err := os.ReadFile(path)
	if info.IsDir() != (err != nil) {
		t.Fatal(err)
	}
	switch {
	case how == "gone":
		must(t, os.RemoveAll(path))
	case how == "another kind" && info.IsDir():
		must(t, os.RemoveAll(path))
		must(t, os.WriteFile(path, []byte("x"), 0o600))
	case how == "another kind":
		must(t, os.Remove(path))
		must(t, os.MkdirAll(filepath.Join(path, "sub"), 0o700))
	case info.IsDir():
		return false
	case how == "half":
		must(t, os.Truncate(path, info.Size()/2))
	case how == "flipped" && len(data) > 0:
		data[len(data)/2] ^= 0xff
		must(t, os.WriteFile(path, data, 0o600))
	case how == "garbage":
		must(t, os.WriteFile(path, []byte(strings.Repeat("garbage!", len(data)/8+1)), 0o600))
	default:
		return false
	}
	return true
}

// TestD12DamagedStream: whatever is wrong with whichever file of JetStream, the
// server comes up, takes requests and hands them to the hub; a folder that
// cannot be used is set aside, and listed.
func TestD12DamagedStream(t *testing.T) {
	t.Parallel()
	ways := []string{"gone", "half", "flipped", "garbage", "another kind"}
	if testing.Short() {
		ways = []string{"garbage", "another kind"}
	}
	base := &home{dir: t.TempDir()}
	base.up(t)
	in := newInbox(t, base, 0)
	got, handler := collect()
	stop := in.consume(t, handler)
	in.send(t, "read")
	next(t, got)
	stop()
	in.send(t, "unread")
	base.down(t)
	var paths []string
	must(t, filepath.WalkDir(filepath.Join(base.dir, "jetstream"), func(path string, _ fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(base.dir, path)
		paths = append(paths, rel)
		return err
	}))
	if len(paths) < 14 {
		t.Fatalf("only %s", paths)
	}
	aside := 0
	for _, path := range paths {
		for _, how := range ways {
			h := &home{dir: t.TempDir()}
			must(t, os.CopyFS(h.dir, os.DirFS(base.dir)))
			if !spoil(t, filepath.Join(h.dir, path), how) {
				continue
			}
			if err := h.answers(t); err != nil {
				t.Errorf("%s %s: %v", path, how, err)
			}
			list := DamagedStreams(h.dir)
			aside += len(list)
			if len(list) > 1 || len(list) == 1 && time.Since(list[0].At) > time.Minute {
				t.Errorf("%s %s: set aside: %+v", path, how, list)
			}
		}
	}
	if aside < 5 {
		t.Errorf("only %d were set aside", aside)
	}
}

// answers starts a hub's side as the hub does and has a request go through it.
func (h *home) answers(t *testing.T) error {
	t.Helper()
	o := h.options(t)
	o.Log = nil
	var err error
	if h.server, err = StartServer(deadline(t), o); err != nil {
		return err
	}
	defer h.down(t)
	b := h.dial(t, UserHub)
	defer func() { must(t, b.Close()) }()
	in, err := h.server.OpenInbound(deadline(t), b, InboundOptions{Prefix: "fika"})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	done := errors.New("done")
	if _, err := in.(*inbound).js.Publish(ctx, "fika.agent.coder.request", []byte("new")); err != nil {
		return err
	}
	err = in.Consume(ctx, func(_ context.Context, m bus.Msg) error {
		if string(m.Data) == "new" {
			err = done
			cancel()
		}
		return nil
	})
	if !errors.Is(context.Cause(ctx), context.Canceled) {
		return fmt.Errorf("the request did not arrive: %v", err)
	}
	return nil
}
