package nats

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"fika"
	"fika/internal/bus"
	"fika/internal/system/address"
)

func TestDialRefuses(t *testing.T) {
	tests := []struct {
		name string
		o    Options
		kind fika.Kind
		says string
	}{
		{"nothing", Options{}, fika.Invalid, "no server URL"},
		{"not a URL", Options{URL: "nats://%zz:secret@x"}, fika.Invalid, "nats://127.0.0.1:4222"},
		{"scheme", Options{URL: "http://127.0.0.1"}, fika.Invalid, "scheme"},
		{"plain and elsewhere", Options{URL: "nats://192.0.2.1:4222"}, fika.Denied, "tls://192.0.2.1:4222"},
		{"login without TLS", Options{URL: "nats://192.0.2.1:4222", User: "u", Password: "p"}, fika.Denied, "TLS"},
		{"TLS without login", Options{URL: "tls://192.0.2.1:4222"}, fika.Denied, "nkey or creds"},
		{"one of several", Options{URL: "nats://127.0.0.1,nats://example.org"}, fika.Denied, "example.org"},
		{"all interfaces", Options{URL: "nats://0.0.0.0:4222"}, fika.Denied, "not on this machine"},
		{"nobody there", Options{URL: "nats://127.0.0.1:1", Timeout: time.Second}, fika.Failed, "127.0.0.1:1"},
		{"no hub", Options{Redial: RedialFrom(t.TempDir(), UserHub)}, fika.NotFound, "fika up"},
		{"no key", Options{URL: "nats://127.0.0.1:1", NKeyFile: "/nowhere/key"}, fika.Invalid, "/nowhere/key"},
		{"no authority", Options{URL: "tls://127.0.0.1:1", TLSCA: "/nowhere/ca"}, fika.Invalid, "/nowhere/ca"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Dial(deadline(t), tt.o)
			wantKind(t, err, tt.kind, tt.says)
			if strings.Contains(err.Error(), "secret") {
				t.Error("the error tells a password")
			}
		})
	}
}

// TestDialCancelled: a server that takes the connection and says nothing does
// not hold up a caller who has gone.
func TestDialCancelled(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close() //nolint:errcheck // the end of the test
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		c, err := l.Accept()
		cancel()
		if err == nil {
			_, _ = c.Read(make([]byte, 1)) // until the other side closes
			_ = c.Close()
		}
	}()
	_, err = Dial(ctx, Options{URL: "nats://" + l.Addr().String(), Timeout: time.Minute})
	wantKind(t, err, fika.Interrupted)
}

// TestDialRetry: a client that is there before its server.
func TestDialRetry(t *testing.T) {
	h := &home{dir: t.TempDir()}
	b, err := Dial(deadline(t), Options{Redial: RedialFrom(h.dir, UserHub), Retry: true, ReconnectWait: 10 * time.Millisecond})
	must(t, err)
	defer b.Close() //nolint:errcheck // the end of the test
	states := make(chan bus.State, 16)
	b.Watch(func(s bus.State, _ error) { states <- s })
	if s := next(t, states); s != bus.Reconnecting {
		t.Errorf("state is %s", s)
	}
	got := make(chan string, 1)
	_, err = b.Subscribe("fika.early", func(m bus.Msg) { got <- string(m.Data) })
	must(t, err)
	must(t, b.Publish("fika.early", []byte("bird")))
	h.up(t)
	defer h.down(t)
	if s := next(t, states); s != bus.Connected {
		t.Errorf("state is %s", s)
	}
	if body := next(t, got); body != "bird" {
		t.Errorf("got %q", body)
	}
}

// plainServer is a NATS server that is not fika's.
func plainServer(t *testing.T, o *server.Options) string {
	t.Helper()
	o.Host, o.Port, o.NoLog, o.NoSigs = "127.0.0.1", server.RANDOM_PORT, true, true
	ns, err := server.NewServer(o)
	must(t, err)
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(patience) {
		t.Fatal("the server does not answer")
	}
	return "127.0.0.1:" + strings.TrimPrefix(ns.Addr().String(), "127.0.0.1:")
}

// certificate makes a self-signed one for 127.0.0.1 and gives its file.
func certificate(t *testing.T) (*tls.Config, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	file := filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}, file
}

func TestExternalServer(t *testing.T) {
	conf, ca := certificate(t)
	_, otherCA := certificate(t)
	pair, err := nkeys.CreateUser()
	must(t, err)
	public, err := pair.PublicKey()
	must(t, err)
	seed, err := pair.Seed()
	must(t, err)
	seedFile := filepath.Join(t.TempDir(), "seed")
	must(t, os.WriteFile(seedFile, seed, 0o600))

	password := plainServer(t, &server.Options{Username: "u", Password: "p"})
	token := plainServer(t, &server.Options{Authorization: "t0ken"})
	nkey := plainServer(t, &server.Options{Nkeys: []*server.NkeyUser{{Nkey: public}}})
	secure := plainServer(t, &server.Options{TLS: true, TLSConfig: conf, Username: "u", Password: "p", TLSTimeout: 5})
	tests := []struct {
		name string
		o    Options
		kind fika.Kind // empty: it works
	}{
		{"password", Options{URL: password, User: "u", Password: "p"}, ""},
		{"password in the URL", Options{URL: "nats://u:p@" + password}, ""},
		{"wrong password", Options{URL: password, User: "u", Password: "x"}, fika.Denied},
		{"token", Options{URL: token, Token: "t0ken"}, ""},
		{"no token", Options{URL: token}, fika.Denied},
		{"nkey", Options{URL: nkey, NKeyFile: seedFile}, ""},
		{"TLS", Options{URL: "tls://" + secure, TLSCA: ca, User: "u", Password: "p"}, ""},
		{"TLS asked for by setting", Options{URL: "nats://" + secure, TLSCA: ca, User: "u", Password: "p"}, ""},
		{"TLS of an unknown authority", Options{URL: "tls://" + secure, TLSCA: otherCA, User: "u", Password: "p"}, fika.Denied},
		{"TLS of the system", Options{URL: "tls://" + secure, User: "u", Password: "p"}, fika.Denied},
		{"one of two answers", Options{URL: "nats://127.0.0.1:1," + password, User: "u", Password: "p"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := Dial(deadline(t), tt.o)
			if tt.kind != "" {
				wantKind(t, err, tt.kind)
				return
			}
			must(t, err)
			must(t, b.Flush(deadline(t)))
			_, unkept, err := OpenExternal(deadline(t), b, InboundOptions{Prefix: "fika"})
			must(t, err)
			wantKind(t, unkept, fika.NotFound, "not kept")
			if !errors.Is(unkept, ErrNoJetStream) {
				t.Errorf("error is %v", unkept)
			}
			must(t, b.Close())
		})
	}
}

// lines is a log that tests read.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), text)
}

// TestQuietComplaints: what is refused a thousand times is said once.
func TestQuietComplaints(t *testing.T) {
	h := newHome(t)
	var log lines
	b, err := Dial(deadline(t), Options{Redial: RedialFrom(h.dir, UserMember), Log: slog.New(slog.NewTextHandler(&log, nil))})
	must(t, err)
	for range 1000 {
		must(t, b.Publish("fika.dead", nil))
	}
	must(t, b.Flush(deadline(t)))
	must(t, b.Close())
	if n := log.count("Permissions Violation"); n != 1 {
		t.Errorf("%d lines", n)
	}
}

// TestSlowConsumer: what is dropped is counted, and nothing else suffers.
func TestSlowConsumer(t *testing.T) {
	h := newHome(t)
	b := h.open(t, UserHub)
	busy, release := make(chan struct{}, 1), make(chan struct{})
	s, err := b.Subscribe("fika.slow", func(bus.Msg) {
		select {
		case busy <- struct{}{}:
		default:
		}
		<-release
	})
	must(t, err)
	defer close(release)
	must(t, b.Publish("fika.slow", nil))
	next(t, busy)
	big := make([]byte, 1<<20)
	for range 70 {
		must(t, b.Publish("fika.slow", big))
	}
	must(t, b.Flush(deadline(t)))
	if n := bus.Dropped(s); n < 4 || n > 10 {
		t.Errorf("%d messages of 1 MiB are counted as lost; 64 MiB wait", n)
	}
}

// FuzzURL: whatever is given as a server, it is refused or it is safe.
func FuzzURL(f *testing.F) {
	for _, s := range []string{"nats://127.0.0.1:4222", "localhost", "tls://u:p@example.org", "nats://[::1]:1,nats://10.0.0.1", "nats://127.0.0.1@evil.org", "nats://127.0.0.1.evil.org", "://", "nats://"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		if (Options{}).checkURLs(list) != nil {
			return
		}
		for _, raw := range strings.Split(list, ",") {
			u, err := parseURL(raw)
			if err != nil {
				t.Fatal(err)
			}
			if !address.IsLoopback(u.Hostname()) && (u.User == nil || (u.Scheme != "tls" && u.Scheme != "wss")) {
				t.Fatalf("%q leaves this machine in the clear", raw)
			}
		}
	})
}

// FuzzKeptFiles: torn or foreign files in run/ are errors.
func FuzzKeptFiles(f *testing.F) {
	f.Add([]byte(`{"url":"nats://127.0.0.1:1","prefix":"fika","pid":1}`), []byte(`{"port":1,"users":{"member":"x"}}`))
	f.Add([]byte(`{}`), []byte(`{"users":null}`))
	f.Add([]byte(``), []byte(`null`))
	f.Fuzz(func(t *testing.T, hub, sec []byte) {
		dir := t.TempDir()
		must(t, os.WriteFile(hubPath(dir), hub, 0o600))
		must(t, os.WriteFile(credentialsPath(dir), sec, 0o600))
		e, err := Credentials(dir, UserMember)
		if err == nil && (e.URL == "" || e.User != UserMember) {
			t.Fatalf("endpoint %+v", e)
		}
		if err != nil && !fika.IsKind(err, fika.Invalid, fika.NotFound) {
			t.Fatal(err)
		}
		if u, err := openUsers(dir, "fika"); err == nil {
			must(t, u.ensurePasswords(UserHub))
		}
	})
}

// TestLongestWait: waits double up to the longest that was asked for.
func TestLongestWait(t *testing.T) {
	o := Options{ReconnectWait: 100 * time.Millisecond, LongestWait: 100 * time.Millisecond}
	for attempt := range 20 {
		if d := o.WaitAfter(attempt); d < 50*time.Millisecond || d >= 150*time.Millisecond {
			t.Fatalf("attempt %d: %s", attempt, d)
		}
	}
	o.LongestWait = 0
	if d := o.WaitAfter(20); d < longestWait/2 {
		t.Errorf("%s", d)
	}
	o.ReconnectWait = 10 * longestWait // a person's own value is not cut
	for attempt := range 20 {
		if d := o.WaitAfter(attempt); d < 5*longestWait || d >= 15*longestWait {
			t.Fatalf("attempt %d: %s", attempt, d)
		}
	}
}
