package bustest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// AnyPort asks [StartServer] for a port that no other program is given by chance while
// the server is down.
const AnyPort = 0

// StartServer starts a plain NATS server in this process, as others run it; it ends with
// the test at the latest. Without a dir it stores nothing. If the server cannot start,
// StartServer logs the reason and fails the test; on AnyPort it first tries a few ports.
func StartServer(t *testing.T, port int, dir string) *server.Server {
	t.Helper()
	var said serverLog
	for range 5 {
		at := port
		if at == AnyPort {
			at = lastingPort(t)
		}
		s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: at, JetStream: dir != "", StoreDir: dir, NoSigs: true})
		if err != nil {
			t.Fatal(err)
		}
		s.SetLogger(&said, false, false)
		s.Start() // it listens when this returns, or has said why not
		if !said.hasFailed() && s.ReadyForConnections(patience) {
			t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
			return s
		}
		s.Shutdown()
		if port != AnyPort {
			break
		}
		t.Logf("the server did not start on port %d: %s", at, said.take())
	}
	t.Fatalf("the server does not start: %s", said.take())
	return nil
}

// lastingPort returns a free loopback port below the range from which systems assign
// ports.
func lastingPort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 10_000 + rand.IntN(20_000)
		if l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// serverLog collects the warnings and errors of a server; it implements server.Logger.
type serverLog struct {
	mu     sync.Mutex
	lines  []string
	failed bool
}

func (l *serverLog) add(fatal bool, format string, v []any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines, l.failed = append(l.lines, fmt.Sprintf(format, v...)), l.failed || fatal
}

func (l *serverLog) hasFailed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// take returns the collected lines and forgets them.
func (l *serverLog) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	said := strings.Join(l.lines, "; ")
	l.lines, l.failed = nil, false
	return said
}

func (l *serverLog) Fatalf(format string, v ...any) { l.add(true, format, v) }
func (l *serverLog) Errorf(format string, v ...any) { l.add(false, format, v) }
func (l *serverLog) Warnf(format string, v ...any)  { l.add(false, format, v) }
func (l *serverLog) Noticef(string, ...any)         {}
func (l *serverLog) Debugf(string, ...any)          {}
func (l *serverLog) Tracef(string, ...any)          {}
