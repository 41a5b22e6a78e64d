package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"fika/internal/api"
)

const (
	maxBody    = 1 << 20
	maxFiles   = 8 << 20 // of a form with files, of whoever is logged in
	maxHeader  = 16 << 10
	headerTime = 10 * time.Second
	readTime   = 30 * time.Second
	// writeTime is how long a client may take nothing before its connection ends.
	writeTime = 30 * time.Second
	idleTime  = 2 * time.Minute
	closeTime = 2 * time.Second
	// maxConns bounds open connections: a browser has six at most.
	maxConns = 256
)

// Logins keeps who is logged in.
type Logins interface {
	// Redeem uses a code up and returns the token of a new session, or an error.
	Redeem(code string) (token string, err error)
	// Valid reports whether a token is that of a session.
	Valid(token string) bool
}

// Options say how to listen. All but Port and, without doors for programs, the last four
// are required.
type Options struct {
	Listen string // a loopback address with a port; with port 0, Port or any free one is taken
	Port   int    // the port of last time, so that open pages find the page again
	Host   string // the host name that browsers use, which resolves to this machine
	Logins Logins
	Person func() api.Service // for the person of this home; called for each request
	// Open reports whether a door for programs is open; nil: none is.
	Open func(api.Door) bool
	// Program returns the service of the program that shows a token at a door. Its error is
	// an [*api.Error]: Denied, if the token does not count there.
	Program func(ctx context.Context, token string, door api.Door) (api.Service, error)
	// MCP returns what answers a program that speaks that protocol; nil: nothing does.
	MCP func(api.Service) http.Handler
	// Alive fails if the home cannot work: its database is away.
	Alive func(context.Context) error
	Now   func() time.Time
	Log   *slog.Logger
}

// Server listens. Create it with [Start].
type Server struct {
	site    *site
	http    *http.Server
	serving sync.WaitGroup
	addr    netAddr
	end     context.CancelFunc // ends streams
}

// netAddr is where a server listens.
type netAddr struct {
	port  int
	moved bool
}

// Start listens and serves until [Server.Close]. It fails if the address cannot be
// listened at.
func Start(o Options) (*Server, error) {
	listeners, addr, err := listen(o)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	s := &Server{site: newSite(o, addr.port), addr: addr, end: end}
	s.http = &http.Server{
		Handler: s.site.handler(), ReadHeaderTimeout: headerTime, ReadTimeout: readTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), // what clients send is not for the log
	}
	for _, l := range listeners {
		s.serving.Go(func() { _ = s.http.Serve(l) }) // it ends with Close
	}
	return s, nil
}

// Port returns the port, and whether another process has the one of last time: it may
// have got the cookies of pages that were open.
func (s *Server) Port() (port int, moved bool) { return s.addr.port, s.addr.moved }

// Watched reports whether anybody has the page open.
func (s *Server) Watched() bool { return s.site.streams.Load() > 0 }

// Close ends all streams, and waits a moment for what is being answered.
func (s *Server) Close() error {
	s.end()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	_ = s.http.Shutdown(ctx)
	err := s.http.Close()
	s.serving.Wait()
	return err
}

// listen opens the address on this machine, and the same port of the other loopback
// address, too: otherwise another process could take that one, and browsers would send it
// the cookie.
func listen(o Options) ([]net.Listener, netAddr, error) {
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, netAddr{}, err
	}
	if port != "0" || o.Port == 0 {
		return listenAt(host, port)
	}
	list, addr, err := listenAt(host, strconv.Itoa(o.Port))
	if !errors.Is(err, syscall.EADDRINUSE) {
		return list, addr, err
	}
	list, addr, err = listenAt(host, "0")
	addr.moved = true
	return list, addr, err
}

func listenAt(host, port string) ([]net.Listener, netAddr, error) {
	other := "::1"
	if ip := net.ParseIP(host); ip != nil && ip.To4() == nil {
		other = "127.0.0.1"
	}
	for try := 0; ; try++ {
		l, err := net.Listen("tcp", net.JoinHostPort(host, port))
		if err != nil {
			return nil, netAddr{}, err
		}
		n := l.Addr().(*net.TCPAddr).Port
		second, err := net.Listen("tcp", net.JoinHostPort(other, strconv.Itoa(n)))
		switch {
		case err == nil:
			return limited(l, second), netAddr{port: n}, nil
		case !errors.Is(err, syscall.EADDRINUSE): // this machine has no such address
			return limited(l), netAddr{port: n}, nil
		}
		_ = l.Close()
		if port != "0" || try == 10 {
			return nil, netAddr{}, err
		}
	}
}

// limited returns listeners that together have at most maxConns connections.
func limited(list ...net.Listener) []net.Listener {
	n := &atomic.Int64{}
	out := make([]net.Listener, len(list))
	for i, l := range list {
		out[i] = &limitedListener{l, n}
	}
	return out
}

type limitedListener struct {
	net.Listener
	open *atomic.Int64
}

// Accept closes what is too much at once, so that nothing waits.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= maxConns {
			return &countedConn{Conn: c, open: l.open}, nil
		}
		l.open.Add(-1)
		_ = c.Close()
	}
}

type countedConn struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

func (c *countedConn) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}
