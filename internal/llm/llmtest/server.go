package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"fika/internal/llm"
)

// Wire is a protocol.
type Wire string

// The protocols.
const (
	OpenAI    Wire = "openai"
	Anthropic Wire = "anthropic"
)

// Handler decides how a request is answered. It must be safe for concurrent use.
type Handler func(Request) Script

// Request is a request as a server received it.
type Request struct {
	N         int // counts from 1
	Wire      Wire
	Path      string
	Header    http.Header
	Body      json.RawMessage
	Model     string
	System    string
	Messages  []llm.Message
	Tools     []llm.Tool
	MaxTokens int64
	Stream    bool
}

// Record is a request with its times.
type Record struct {
	Request
	Received time.Time // when its body was read
	First    time.Time // when the first byte of the answer was sent; zero: not yet
	Leaving  time.Time // when the last chunk began to be sent
	Last     time.Time // when the last chunk was sent; zero: not yet
	Done     bool      // the handler has returned
	Gone     bool      // the client left before the answer was complete
}

// Server is a provider on loopback.
type Server struct {
	wire    Wire
	handler Handler
	http    *http.Server
	addr    string
	ctx     context.Context // ends stalls when the server closes
	cancel  context.CancelFunc
	served  chan struct{}

	mu      sync.Mutex
	records []*Record
	changed chan struct{} // closed and replaced at each change of records
}

// NewOpenAI starts a server that speaks chat completions and closes it with the test.
func NewOpenAI(t testing.TB, h Handler) *Server { return start(t, OpenAI, h) }

// NewAnthropic starts a server that speaks messages and closes it with the test.
func NewAnthropic(t testing.TB, h Handler) *Server { return start(t, Anthropic, h) }

func start(t testing.TB, w Wire, h Handler) *Server {
	t.Helper()
	s, err := Listen("127.0.0.1:0", w, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Listen starts a server at addr, for use outside tests. The caller must call Close.
func Listen(addr string, w Wire, h Handler) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &Server{wire: w, handler: h, addr: l.Addr().String(), served: make(chan struct{}), changed: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(l) // ends with Close
	}()
	return s, nil
}

// URL returns the base URL to give to a model, /v1 included.
func (s *Server) URL() string { return "http://" + s.addr + "/v1" }

// Close ends everything the server does and waits for it.
func (s *Server) Close() error {
	s.cancel()
	err := s.http.Close()
	<-s.served
	return err
}

// Requests returns the records so far, oldest first.
func (s *Server) Requests() []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Record, len(s.records))
	for i, r := range s.records {
		out[i] = *r
	}
	return out
}

// Await blocks until ok accepts the records and returns them, or returns ctx's error.
func (s *Server) Await(ctx context.Context, ok func([]Record) bool) ([]Record, error) {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if r := s.Requests(); ok(r) {
			return r, nil
		}
		select {
		case <-ctx.Done():
			return s.Requests(), ctx.Err()
		case <-changed:
		}
	}
}

func (s *Server) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	want := map[Wire]string{OpenAI: "/v1/chat/completions", Anthropic: "/v1/messages"}[s.wire]
	if hr.URL.Path != want {
		http.Error(w, fmt.Sprintf(`{"error":{"message":"no such path: %s"}}`, hr.URL.Path), http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(hr.Body)
	if err != nil {
		return
	}
	received := time.Now()
	req, err := parse(s.wire, body)
	if err != nil {
		http.Error(w, fmt.Sprintf(`{"error":{"type":"invalid_request_error","message":%q}}`, err.Error()), http.StatusBadRequest)
		return
	}
	req.Path, req.Header = hr.URL.Path, hr.Header.Clone()
	rec := &Record{Received: received}
	s.update(func() {
		req.N = len(s.records) + 1
		rec.Request = req
		s.records = append(s.records, rec)
	})
	p := &player{server: s, rec: rec, w: w, gone: hr.Context().Done()}
	defer func() { s.update(func() { rec.Done = true }) }()
	p.play(s.handler(req))
}
