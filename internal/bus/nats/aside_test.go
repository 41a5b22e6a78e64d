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

	"github.com/nats-io/nats.go/jetstream"

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
	case how == "page" && len(data) > 0:
		copy(data[len(data)/3:], strings.Repeat("\x00", 4096))
		must(t, os.WriteFile(path, data, 0o600))
	case how == "garbage":
		must(t, os.WriteFile(path, []byte(strings.Repeat("garbage!", len(data)/8+1)), 0o600))
	default:
		return false
	}
	return true
}

// TestD12DamagedStream: whatever is wrong with whichever file of JetStream, or
// with its whole folder, the server comes up and takes requests, and each one
// that was accepted before is handed to the hub or reported as lost. A folder
// that cannot be used is set aside, and listed.
func TestD12DamagedStream(t *testing.T) {
	t.Parallel()
	ways := []string{"gone", "half", "flipped", "page", "garbage", "another kind"}
	if testing.Short() {
		ways = []string{"gone", "page", "another kind"}
	}
	base := &home{dir: t.TempDir()}
	base.up(t)
	in := newInbox(t, base, 0)
	got, handler := collect()
	stop := in.consume(t, handler)
	in.send(t, request("read"))
	next(t, got)
	stop()
	for _, id := range unread {
		in.send(t, request(id))
	}
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
	aside, lost := 0, 0
	for _, path := range paths {
		for _, how := range ways {
			h := &home{dir: t.TempDir()}
			must(t, os.CopyFS(h.dir, os.DirFS(base.dir)))
			if !spoil(t, filepath.Join(h.dir, path), how) {
				continue
			}
			n, err := h.answers(t)
			if err != nil {
				t.Errorf("%s %s: %v", path, how, err)
			}
			lost += n
			list := DamagedStreams(h.dir)
			aside += len(list)
			if len(list) > 1 || len(list) == 1 && time.Since(list[0].At) > time.Minute {
				t.Errorf("%s %s: set aside: %+v", path, how, list)
			}
		}
	}
	if aside < 5 || lost < 10 {
		t.Errorf("only %d were set aside, %d were lost", aside, lost)
	}
}

// unread are the ids of requests that were accepted before the damage.
var unread = []string{"u-1", "u-2", "u-3"}

func request(id string) string { return fmt.Sprintf(`{"requestId": %q}`, id) }

// answers starts a hub's side as the hub does and has a request go through it.
// Each of those that were accepted before has to arrive, or to be lost; lost is
// how many were.
func (h *home) answers(t *testing.T) (lost int, err error) {
	t.Helper()
	o := h.options(t)
	o.Log = nil
	if h.server, err = StartServer(deadline(t), o); err != nil {
		return 0, err
	}
	defer h.down(t)
	b := h.dial(t, UserHub)
	defer func() { must(t, b.Close()) }()
	in, err := h.server.OpenInbound(deadline(t), b, InboundOptions{Prefix: "fika"})
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := publish(ctx, in.(*inbound).js, request("new")); err != nil {
		return 0, err
	}
	missing := map[string]bool{"new": true}
	for _, id := range unread {
		missing[id] = true
	}
	told := map[string]bool{}
	err = in.Consume(ctx, func(_ context.Context, m bus.Msg) error {
		id := requestID(m.Data)
		if m.Lost != nil {
			id = m.Lost.ID
			told[id] = true
		}
		delete(missing, id)
		if len(missing) == 0 {
			cancel()
		}
		return nil
	})
	if len(missing) > 0 {
		return 0, fmt.Errorf("silence about %v: %w", missing, err)
	}
	listed, err := LostRequests(h.dir)
	for _, l := range listed {
		if !told[l.ID] || l.Agent != "coder" || l.Accepted.IsZero() {
			err = errors.Join(err, fmt.Errorf("nobody was told of %+v", l))
		}
	}
	if len(listed) != len(told) {
		err = errors.Join(err, fmt.Errorf("lost are %v, noted %+v", told, listed))
	}
	return len(told), err
}

func publish(ctx context.Context, js jetstream.JetStream, body string) error {
	_, err := js.Publish(ctx, "fika.agent.coder.request", []byte(body))
	return err
}
