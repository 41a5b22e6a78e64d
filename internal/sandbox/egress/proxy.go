package egress

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"fika"
	"fika/internal/system/address"
)

const (
	// dialTime bounds the search for an address and the connection to it.
	dialTime = 30 * time.Second
	// helloTime bounds the wait for the first bytes of a tunnel.
	helloTime = 10 * time.Second
	// maxHeader is how many bytes of header a request may have.
	maxHeader = 64 << 10
	// maxNamed is how many hosts of each sort [Traffic] lists.
	maxNamed = 20
)

// Proxy decides which hosts may be reached. It never changes and is safe for concurrent
// use.
type Proxy struct {
	Hosts []address.Host
	// Lookup resolves the name of a host that is allowed; nil: that of
	// net.DefaultResolver. It is never asked about any other name.
	Lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Traffic is what was asked of a proxy: "host:port", each once, at most twenty of a sort. What
// was refused although it is allowed has the reason in brackets behind it.
type Traffic struct {
	Reached []string // a connection was made
	Refused []string
}

// Serve answers on a listener until the returned function is called, which closes the
// listener and all connections, waits for them to end, and says what was asked for.
func (p *Proxy) Serve(l net.Listener) (end func() Traffic) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &served{proxy: p, cancel: cancel, silent: slog.NewLogLogger(slog.DiscardHandler, 0), tunnels: map[net.Conn]bool{}}
	s.server = &http.Server{
		Handler: http.HandlerFunc(s.handle), ReadHeaderTimeout: helloTime, MaxHeaderBytes: maxHeader,
		ErrorLog: s.silent, DisableGeneralOptionsHandler: true, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	s.forward = &http.Transport{DialContext: s.dial, MaxResponseHeaderBytes: maxHeader * 4, DisableCompression: true}
	s.running.Go(func() { _ = s.server.Serve(l) }) // it ends with the listener
	return s.end
}

// served is one listener with its connections.
type served struct {
	proxy   *Proxy
	server  *http.Server
	forward *http.Transport // of what is not a tunnel
	cancel  context.CancelFunc
	silent  *log.Logger // what a client does wrong is said to the client
	running sync.WaitGroup

	mu      sync.Mutex
	traffic Traffic
	tunnels map[net.Conn]bool
	ended   bool
}

func (s *served) end() Traffic {
	s.mu.Lock()
	s.ended = true
	for c := range s.tunnels {
		c.Close()
	}
	s.mu.Unlock()
	s.cancel()
	_ = s.server.Close() // of the listener and what is idle; nobody is left who could use it
	s.running.Wait()
	s.forward.CloseIdleConnections()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.traffic
}

// begin counts a request that has to end before the proxy has. It reports false if the
// proxy is ending.
func (s *served) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.running.Add(1)
	}
	return !s.ended
}

// handle answers one request of the command.
func (s *served) handle(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		return
	}
	defer s.running.Done()
	if r.Method == http.MethodConnect {
		s.tunnel(w, r)
		return
	}
	switch {
	case r.URL.Scheme != "http" || r.URL.Host == "":
		http.Error(w, "this is a proxy: ask for a whole http address, or CONNECT", http.StatusBadRequest)
		return
	case r.Header.Get("Upgrade") != "":
		http.Error(w, "the proxy does not change protocols", http.StatusNotImplemented)
		return
	}
	hostPort := r.URL.Host
	if r.URL.Port() == "" {
		hostPort = net.JoinHostPort(r.URL.Hostname(), "80")
	}
	if _, err := s.proxy.find(hostPort, 80); err != nil {
		s.refuse(w, hostPort, err)
		return
	}
	(&httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.Host = p.Out.URL.Host
			p.Out.Header.Del("Proxy-Authorization")
		},
		Transport: s.forward, FlushInterval: -1, ErrorLog: s.silent, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { s.failed(w, hostPort, err) },
	}).ServeHTTP(w, r)
}

// find returns the destination that host:port is.
func (p *Proxy) find(hostPort string, usual int) (address.Host, error) {
	host, port, err := net.SplitHostPort(hostPort)
	n, failed := strconv.Atoi(port)
	if err != nil || failed != nil {
		return address.Host{}, fika.Errorf(fika.Denied, "", "no host and port can be read")
	}
	i := slices.IndexFunc(p.Hosts, func(h address.Host) bool { return h.Matches(host, n, usual) })
	if i < 0 {
		return address.Host{}, fika.Errorf(fika.Denied, "", "no setting allows it ([sandbox] hosts)")
	}
	return p.Hosts[i], nil
}

// dial connects to a destination of a request that is not a tunnel.
func (s *served) dial(ctx context.Context, _, hostPort string) (net.Conn, error) {
	h, err := s.proxy.find(hostPort, 80)
	if err != nil {
		return nil, err
	}
	return s.connect(ctx, h, hostPort)
}

// connect dials the checked address of a destination.
func (s *served) connect(ctx context.Context, h address.Host, hostPort string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	to := hostPort
	if h.Addr.IsValid() {
		to = h.Addr.String()
	}
	d := address.Dialer{Lookup: s.proxy.Lookup, AllowPrivate: h.Private || h.Addr.IsValid()}
	conn, err := d.DialContext(ctx, "tcp", to)
	if err == nil {
		s.note(&s.traffic.Reached, hostPort)
	}
	return conn, err
}

// note adds a destination to one of the lists of the traffic.
func (s *served) note(list *[]string, hostPort string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if hostPort = fmt.Sprintf("%.300s", hostPort); len(*list) < maxNamed && !slices.Contains(*list, hostPort) {
		*list = append(*list, hostPort)
	}
}

func (s *served) refuse(w http.ResponseWriter, hostPort string, err error) {
	s.note(&s.traffic.Refused, hostPort)
	http.Error(w, fmt.Sprintf("refused: %.300s: %v", hostPort, err), http.StatusForbidden)
}

// failed answers that a destination could not be reached.
func (s *served) failed(w http.ResponseWriter, hostPort string, err error) {
	var known *fika.Error
	if errors.As(err, &known) && known.Kind == fika.Denied {
		s.note(&s.traffic.Refused, hostPort+" ("+known.Error()+")")
		http.Error(w, fmt.Sprintf("refused: %.300s: %v", hostPort, known), http.StatusForbidden)
		return
	}
	http.Error(w, fmt.Sprintf("%.300s cannot be reached: %v", hostPort, err), http.StatusBadGateway)
}
