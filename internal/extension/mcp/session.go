package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fika"
	"fika/internal/text/safetext"
)

// session is a connected server. It is safe for concurrent use.
type session struct {
	server Server
	conn   *sdk.ClientSession
	child  *child // nil for a remote server
	http   *requester
	log    *sharedLog

	ended   chan struct{} // for a remote server: closed when it cannot be used any more
	endOnce sync.Once
	closing sync.Once

	mu       sync.Mutex
	listing  Listing
	stale    bool // the server says that its tools have changed
	next     int
	progress map[string]func(string) // by token, of running calls
}

// connect starts or reaches a server and asks for its tools. ctx bounds all of it.
func connect(ctx context.Context, o Options, s Server, c Confinement, mark string) (_ *session, err error) {
	log, err := o.Log(s.Name)
	if err != nil {
		return nil, fika.Wrap(fika.Storage, "log of mcp server "+s.Name, err)
	}
	shared := &sharedLog{w: log}
	n := &session{server: s, log: shared, ended: make(chan struct{}), progress: map[string]func(string){}}
	transport, err := n.open(o, c, mark, shared)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = n.explain(ctx, err)
			n.close()
		}
	}()
	if n.conn, err = n.client(o, c).Connect(ctx, transport, nil); err != nil {
		return nil, err
	}
	if n.listing, err = list(ctx, n.conn, s); err == nil && n.child == nil {
		go n.awaitEnd()
	}
	return n, err
}

// awaitEnd blocks until a remote server can no longer be spoken to.
func (n *session) awaitEnd() {
	_ = n.conn.Wait() // calls say why
	n.forget()
}

// forget makes the next call connect anew. It may be called twice.
func (n *session) forget() { n.endOnce.Do(func() { close(n.ended) }) }

func (n *session) open(o Options, c Confinement, mark string, log io.WriteCloser) (sdk.Transport, error) {
	if n.server.URL != "" {
		t, r := remote(n.server)
		n.http = r
		return t, nil
	}
	dir := o.Dir
	if c != nil {
		dir = c.Workspace()
	}
	var err error
	n.child, err = start(launch{server: n.server, confine: c, dir: dir, mark: mark, children: o.Children, log: log})
	if err != nil {
		return nil, err
	}
	return &sdk.IOTransport{Reader: n.child.stdout, Writer: n.child.Stdin, MaxLineLength: -1}, nil
}

func (n *session) client(o Options, c Confinement) *sdk.Client {
	caps := &sdk.ClientCapabilities{}
	if c != nil {
		caps.RootsV2 = &sdk.RootCapabilities{} //lint:ignore SA1019 servers of today ask for it
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "fika", Version: o.Version}, &sdk.ClientOptions{
		Capabilities:                caps,
		MultiRoundTrip:              &sdk.MultiRoundTripOptions{Disabled: true},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { n.passProgress(r.Params) },
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { n.outdate() },
	})
	if c != nil {
		root := &url.URL{Scheme: "file", Path: c.Workspace()}
		//lint:ignore SA1019 servers of today ask for it
		client.AddRoots(&sdk.Root{URI: root.String(), Name: "workspace"})
	}
	client.AddReceivingMiddleware(n.refuse)
	return client
}

// refuse answers the requests that servers make to fika, and logs their log messages.
func (n *session) refuse(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		why := ""
		switch method {
		case "sampling/createMessage":
			why = "fika lends its models to no server"
		case "elicitation/create":
			why = "nobody answers questions of servers here: ask for what you need as an argument of the tool"
		case "notifications/message":
			//lint:ignore SA1019 servers send it for as long as their version of the protocol has it
			if p, ok := r.GetParams().(*sdk.LoggingMessageParams); ok {
				fmt.Fprintf(n.log, "[log] %s: %v\n", p.Level, p.Data)
			}
			return nil, nil
		default:
			return next(ctx, method, r)
		}
		fmt.Fprintf(n.log, "[refused] %s: %s\n", method, why)
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: why}
	}
}

// outdate notes that the tools have to be asked for again.
func (n *session) outdate() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stale = true
}

// current returns what the server says about its tools now.
func (n *session) current(ctx context.Context) (Listing, error) {
	n.mu.Lock()
	stale := n.stale
	n.stale = false
	l := n.listing
	n.mu.Unlock()
	if !stale {
		return l, nil
	}
	l, err := list(ctx, n.conn, n.server)
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		n.stale = true
		return l, n.explain(ctx, err)
	}
	n.listing = l
	return l, nil
}

// follow passes on the progress that a call reports, until the returned function is
// called.
func (n *session) follow(p *sdk.CallToolParams, tell func([]byte)) func() {
	if tell == nil {
		return func() {}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.next++
	token := "fika-" + strconv.Itoa(n.next)
	p.SetProgressToken(token)
	n.progress[token] = func(line string) { tell([]byte(line)) }
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.progress, token)
	}
}

func (n *session) passProgress(p *sdk.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	n.mu.Lock()
	tell := n.progress[token]
	n.mu.Unlock()
	if tell == nil {
		return
	}
	line := strconv.FormatFloat(p.Progress, 'g', 6, 64)
	if p.Total > 0 {
		line += " of " + strconv.FormatFloat(p.Total, 'g', 6, 64)
	}
	if p.Message != "" {
		line += ": " + clip(safetext.Line(p.Message), 500)
	}
	tell(line + "\n")
}

// gone reports whether the server has ended or cannot be used any more.
func (n *session) gone() bool {
	if n.child != nil {
		return n.child.broken() != ""
	}
	select {
	case <-n.ended:
		return true
	default:
		return false
	}
}

// answered reports whether the error of a call is the server's own answer to it.
func (n *session) answered(err error) bool {
	var wire *jsonrpc.Error
	return errors.As(err, &wire) && !ofTransport(wire) && !n.gone()
}

// unsent reports whether a call failed before the server could take it.
func unsent(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial" || fika.IsKind(err, fika.Denied)
}

// ofTransport reports whether an error in the form of an answer comes from the transport:
// from the library, whose codes these are, or from [eventStream].
func ofTransport(e *jsonrpc.Error) bool {
	return e.Code == codeCutShort || e.Code <= -32003 && e.Code >= -32005
}

// explain returns an error that says why a server does not answer, as far as that is
// known.
func (n *session) explain(ctx context.Context, err error) error {
	var late tookTooLong
	switch {
	case ctx.Err() != nil && errors.As(context.Cause(ctx), &late):
		return fika.Errorf(fika.Limit, "", "%s", late.Error())
	case ctx.Err() != nil:
		return fika.Wrap(fika.Interrupted, "mcp server "+n.server.Name, context.Cause(ctx))
	case n.child == nil:
		return plainError(err)
	}
	if broken := n.child.broken(); broken != "" {
		if last := n.log.last(); last != "" {
			broken += "; the last it said: " + last
		}
		return fika.Errorf(fika.Failed, "", "%s", broken)
	}
	return plainError(err)
}

// plainError strips the words of the library from an error. If fika itself caused the
// error, it returns that cause.
func plainError(err error) error {
	var own *fika.Error
	if errors.As(err, &own) {
		return own
	}
	var wire *jsonrpc.Error
	if errors.As(err, &wire) && (wire.Code == codeCutShort || !ofTransport(wire)) {
		return fika.Errorf(fika.Failed, "", "%s", clip(safetext.Plain(wire.Message), 4<<10))
	}
	var request *url.Error
	if errors.As(err, &request) {
		return fika.Errorf(fika.Failed, "", "it cannot be reached: %s", clip(safetext.Plain(request.Err.Error()), 4<<10))
	}
	text := err.Error()
	if i := strings.LastIndex(text, "sending \""); i >= 0 { // the method that was sent means nothing to a reader
		if _, rest, ok := strings.Cut(text[i:], "\": "); ok {
			text = rest
		}
	}
	return fika.Errorf(fika.Failed, "", "%s", clip(safetext.Plain(text), 4<<10))
}

// close ends the session and its process. It returns when the process is gone, and may be
// called more than once.
func (n *session) close() { n.closing.Do(n.end) }

func (n *session) end() {
	if n.child != nil {
		n.child.End()
	}
	if n.conn != nil {
		_ = n.conn.Close() // its process is gone, or the server is remote
	}
	if n.http != nil {
		n.http.close()
	}
	if n.child == nil {
		_ = n.log.Close()
	}
}

// sharedLog is written by the process of a server and by the reader of its messages.
type sharedLog struct {
	mu     sync.Mutex
	w      io.WriteCloser
	end    []byte // the last bytes that were written
	closed bool
}

// lastWords is how many bytes of the end are kept for errors.
const lastWords = 1 << 10

// last returns the end of what was written, on one line.
func (l *sharedLog) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(safetext.Line(strings.ToValidUTF8(string(l.end), "")))
}

// Write never fails: a full disk must not end a server.
func (l *sharedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end = append(l.end, p[max(0, len(p)-lastWords):]...)
	l.end = l.end[max(0, len(l.end)-lastWords):]
	if !l.closed {
		_, _ = l.w.Write(p)
	}
	return len(p), nil
}

// Close implements [io.Closer]. It may be called twice.
func (l *sharedLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	return l.w.Close()
}
