package nats

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"fika/internal/bus"
)

// serveForTest is a server process that a test ends with SIGKILL. It says
// ready once the stream is there, and goes away with its parent.
func serveForTest(dir string) int {
	ctx := context.Background()
	s, err := StartServer(ctx, ServerOptions{Dir: filepath.Join(dir, "jetstream"), RunDir: dir, Prefix: "fika"})
	if err == nil {
		_, err = openAsHub(ctx, s, dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready", s.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

func openAsHub(ctx context.Context, s *Server, dir string) (bus.Inbound, error) {
	b, err := Dial(ctx, Options{Redial: RedialFrom(dir, UserHub)})
	if err != nil {
		return nil, err
	}
	return s.OpenInbound(ctx, b, InboundOptions{Prefix: "fika"})
}

// process is a server in a process of its own.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

func spawn(t testing.TB, dir string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FIKA_TEST_SERVE="+dir)
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server process said %q: %v", line, err)
	}
	return &process{cmd: cmd, stdin: in}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// TestKill ends the server with SIGKILL while foreign programs publish, again
// and again: what was acknowledged to them arrives.
func TestKill(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), deadline(t)
	var mu sync.Mutex
	acked := map[string]bool{}
	sent := 0
	for round := range 4 {
		p := spawn(t, dir)
		client, err := Dial(ctx, Options{Redial: RedialFrom(dir, UserMember)})
		must(t, err)
		js, err := jetstream.New(client.(*conn).nc)
		must(t, err)
		var enough atomic.Int32
		killed := make(chan struct{})
		var wg sync.WaitGroup
		pctx, stop := context.WithCancel(ctx)
		for w := range 4 {
			wg.Go(func() {
				for i := 0; pctx.Err() == nil; i++ {
					id := fmt.Sprintf("%d/%d/%d", round, w, i)
					if _, err := js.Publish(pctx, "fika.agent.coder.request", []byte(id)); err != nil {
						return
					}
					mu.Lock()
					acked[id] = true
					mu.Unlock()
					if enough.Add(1) == 200 {
						close(killed)
					}
				}
			})
		}
		next(t, killed)
		p.kill()
		stop()
		wg.Wait()
		must(t, client.Close())
	}
	sent = len(acked)

	h := &home{dir: dir}
	h.up(t)
	defer h.down(t)
	b := h.dial(t, UserHub)
	defer func() { must(t, b.Close()) }()
	in, err := h.server.OpenInbound(ctx, b, InboundOptions{Prefix: "fika"})
	must(t, err)
	cctx, stop := context.WithCancel(ctx)
	err = in.Consume(cctx, func(_ context.Context, m bus.Msg) error {
		delete(acked, string(m.Data))
		if len(acked) == 0 {
			stop()
		}
		return nil
	})
	stop()
	if err != nil || len(acked) > 0 {
		t.Fatalf("%d of %d acknowledged messages were lost (%v)", len(acked), sent, err)
	}
	t.Logf("%d acknowledged, none lost", sent)
}
