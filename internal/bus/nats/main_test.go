package nats

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fika/internal/bus"
	"fika/internal/bus/bustest"
)

const patience = 5 * time.Minute

func TestMain(m *testing.M) {
	if dir := os.Getenv("FIKA_TEST_SERVE"); dir != "" {
		os.Exit(serveForTest(dir))
	}
	goleak.VerifyTestMain(m)
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func next[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// home is a run folder with a server.
type home struct {
	dir    string
	server *Server
}

func newHome(t *testing.T) *home {
	t.Helper()
	h := &home{dir: t.TempDir()}
	h.up(t)
	t.Cleanup(func() { h.down(t) })
	return h
}

func (h *home) options(t *testing.T) ServerOptions {
	return ServerOptions{Dir: filepath.Join(h.dir, "jetstream"), RunDir: h.dir, Prefix: "fika", Log: testLog(t)}
}

func (h *home) up(t *testing.T) {
	t.Helper()
	s, err := StartServer(deadline(t), h.options(t))
	must(t, err)
	h.server = s
}

func (h *home) down(t *testing.T) {
	t.Helper()
	must(t, h.server.Shutdown(deadline(t)))
}

func (h *home) dial(t *testing.T, who string) bus.Bus {
	t.Helper()
	b, err := Dial(deadline(t), Options{Redial: RedialFrom(h.dir, who), Name: who, Log: testLog(t), ReconnectWait: 10 * time.Millisecond})
	must(t, err)
	return b
}

// open dials and closes at the end of the test.
func (h *home) open(t *testing.T, who string) bus.Bus {
	t.Helper()
	b := h.dial(t, who)
	t.Cleanup(func() { must(t, b.Close()) })
	return b
}

func testLog(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
}

func TestConformance(t *testing.T) {
	bustest.Run(t, func(t *testing.T) bustest.Fixture {
		h := newHome(t)
		return bustest.Fixture{
			Dial: func(t *testing.T) bus.Bus { return h.dial(t, UserHub) },
			Down: h.down,
			Up:   h.up,
		}
	})
}
