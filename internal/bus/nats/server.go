package nats

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"fika"
	"fika/internal/system/address"
	"fika/internal/system/crash"
)

// ServerOptions says what to serve, and where the server keeps its files.
type ServerOptions struct {
	Dir      string // JetStream folder, under the hub's lock
	RunDir   string // hub.json and credentials
	Host     string // loopback only; 127.0.0.1 if empty
	Port     int    // 0: the port kept in RunDir, or a free one
	Prefix   string // of the subjects
	Agents   []fika.AgentName
	Members  []Member
	MaxStore int64 // bytes on disk; 512 MiB if zero
	Log      *slog.Logger
}

const (
	defaultHost     = "127.0.0.1"
	defaultMaxStore = 512 << 20
	maxMemory       = 16 << 20
	startTimeout    = 10 * time.Second
	startGlance     = 100 * time.Millisecond
	failedStop      = time.Second // for a server that did not come up
	serverPing      = 30 * time.Second
)

// Server is the NATS server of a hub, running in this process. It installs no signal
// handlers. Its methods are safe for concurrent use.
type Server struct {
	opts  ServerOptions
	log   *slog.Logger
	users *users

	mu       sync.Mutex // one start, restart or shutdown at a time
	ns       *server.Server
	intake   *intake // of ns
	receipts *receipts
	port     int
	started  time.Time
}

// StartServer starts the server and returns when it answers, a few ms later. The caller
// holds the lock of the home (run/hub.lock) from before this call until after Shutdown.
// The port and the passwords are chosen once and kept in RunDir, so that clients find the
// server again; a kept port that another program has taken is replaced, but a port that
// was asked for is not. A folder that the server cannot use is set aside (see
// [DamagedStreams]).
//
// Error kinds: Locked when the port is in use, Denied for a host that others can reach,
// Invalid for a bad prefix or kept files that cannot be read, Storage when the folder
// cannot be used.
func StartServer(ctx context.Context, o ServerOptions) (*Server, error) {
	if o.Host == "" {
		o.Host = defaultHost
	}
	if o.MaxStore == 0 {
		o.MaxStore = defaultMaxStore
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if !address.IsLoopback(o.Host) {
		return nil, fika.Errorf(fika.Denied, "start bus", "the embedded server listens on this machine only, not on %s: for several machines run a NATS server and name it in [nats] server", o.Host)
	}
	if err := CheckPrefix(o.Prefix); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.RunDir, 0o700); err != nil {
		return nil, fika.Wrap(fika.Storage, "start bus", err)
	}
	removeHalves(o.RunDir)
	users, err := openUsers(o.RunDir, o.Prefix)
	if err != nil {
		return nil, err
	}
	s := &Server{opts: o, log: log, users: users}
	if err := users.ensurePasswords(append([]string{UserHub, UserMember}, agentUsers(o.Agents)...)...); err != nil {
		return nil, err
	}
	if _, err := users.setMembers(o.Members); err != nil {
		return nil, err
	}
	if s.receipts, err = openReceipts(o.RunDir); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.startOn(ctx); err != nil {
		return nil, errors.Join(err, s.receipts.closeFile())
	}
	return s, nil
}

func agentUsers(names []fika.AgentName) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = AgentUser(n)
	}
	return out
}

// CheckPrefix checks that prefix can begin the subjects of an installation: up to 64
// characters, tokens of letters, digits, _ and -, separated by dots. Error kind: Invalid.
func CheckPrefix(prefix string) error {
	for token := range strings.SplitSeq(prefix, ".") {
		ok := token != "" && !strings.ContainsFunc(token, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
		})
		if !ok || len(prefix) > 64 {
			return fika.Errorf(fika.Invalid, "bus", "%.80q cannot be a subject_prefix: use up to 64 letters, digits, _ and -, with dots between words", prefix)
		}
	}
	return nil
}

// startOn chooses the port and starts the server. The caller holds mu.
func (s *Server) startOn(ctx context.Context) error {
	port := s.port // set on a restart
	if port == 0 {
		port = s.opts.Port
	}
	kept := false
	if port == 0 {
		port = s.users.lastPort()
		kept = port != 0
	}
	if port != 0 {
		if err := portFree(s.opts.Host, port); err != nil && kept {
			s.log.Info("bus: the kept port is taken, choosing another", "port", port)
			port = 0
		} else if err != nil {
			return err
		}
	}
	ns, err := s.runOrRenew(ctx, port)
	if err != nil {
		return err
	}
	s.ns, s.started = ns, time.Now()
	s.port = ns.Addr().(*net.TCPAddr).Port
	if s.opts.Port == 0 {
		err = s.users.keepPort(s.port)
	}
	if err == nil {
		err = WriteEndpoint(s.opts.RunDir, HubInfo{URL: s.clientURL(), Prefix: s.opts.Prefix, PID: os.Getpid(), Started: s.started.UTC()})
	}
	if err != nil {
		return errors.Join(err, s.stopServer(ctx))
	}
	return nil
}

// portFree returns an error if port cannot be listened on. Another program may still take
// the port before the server does; then the server's own complaint is passed on.
func portFree(host string, port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return &fika.Error{Kind: fika.Locked, Op: "start bus", Err: err, Msg: fmt.Sprintf("port %d of %s is in use: "+
			"if a NATS server is to serve fika, let it answer there; otherwise stop what uses the port, or set another in [nats] server", port, host)}
	}
	return l.Close()
}

// runOn starts a server and waits until it answers. Nobody reaches it before the intake
// is open, so that what is published is stored with a receipt, or not at all.
func (s *Server) runOn(ctx context.Context, port int) (*server.Server, error) {
	if port == 0 {
		port = server.RANDOM_PORT
	}
	ns, err := server.NewServer(&server.Options{
		ServerName: "fika", Host: s.opts.Host, Port: port,
		NoSigs: true, NoLog: true, DisableJetStreamBanner: true, DontListen: true,
		JetStream: true, StoreDir: s.opts.Dir, SyncAlways: !crash.Without(crash.SyncBus),
		JetStreamMaxStore: s.opts.MaxStore, JetStreamMaxMemory: maxMemory,
		MaxPayload: defaultPayload, PingInterval: serverPing,
		CustomClientAuthentication: s.users,
	})
	if err != nil {
		return nil, fika.Wrap(fika.Failed, "start bus", err)
	}
	log := &serverLog{log: s.log}
	ns.SetLoggerV2(log, false, false, false)
	ns.Start()
	if s.awaitStart(ns, log) {
		if err = s.openIntake(ns, port, log); err == nil {
			return ns, nil
		}
	} else {
		why := cmp.Or(log.fatalError(), "it does not answer")
		err = fika.Errorf(fika.Storage, "start bus", "%s (folder %s)", why, s.opts.Dir)
	}
	stopping, cancel := context.WithTimeout(ctx, failedStop)
	defer cancel()
	s.closeIntake(stopping)
	_ = stopServer(stopping, ns) // a server that has not come up may not stop either
	return nil, err
}

// openIntake opens the intake, and then the port.
func (s *Server) openIntake(ns *server.Server, port int, log *serverLog) (err error) {
	password, _ := s.users.passwordOf(UserHub)
	if s.intake, err = openIntake(ns, UserHub, password, s.opts.Prefix, s.receipts, s.log); err != nil {
		return err
	}
	ns.AcceptLoop(make(chan struct{}))
	if why := log.fatalError(); why != "" {
		if err := portFree(s.opts.Host, port); port > 0 && err != nil {
			return err
		}
		return fika.Errorf(fika.Locked, "start bus", "%s", why) // another program was quicker to take the port
	}
	return nil
}

func (s *Server) closeIntake(ctx context.Context) {
	if s.intake != nil {
		s.intake.closeIntake(ctx)
		s.intake = nil
	}
}

// awaitStart reports whether the server came up.
func (s *Server) awaitStart(ns *server.Server, log *serverLog) bool {
	for end := time.Now().Add(startTimeout); time.Now().Before(end) && log.fatalError() == ""; {
		if ns.ReadyForConnections(startGlance) {
			return ns.JetStreamEnabled() && log.fatalError() == ""
		}
	}
	return false
}

// Addr returns the address on which the server listens.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return net.JoinHostPort(s.opts.Host, strconv.Itoa(s.port))
}

// HasMembers reports whether a client is connected as [UserMember] or as a
// [MemberUser], or whether that cannot be determined.
func (s *Server) HasMembers() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ns == nil {
		return false
	}
	list, err := s.ns.Connz(&server.ConnzOptions{Username: true, Limit: s.ns.NumClients() + 1})
	return err != nil || slices.ContainsFunc(list.Conns, func(c *server.ConnInfo) bool {
		return c.AuthorizedUser == UserMember || strings.HasPrefix(c.AuthorizedUser, memberUserPrefix)
	})
}

func (s *Server) clientURL() string {
	return "nats://" + net.JoinHostPort(s.opts.Host, strconv.Itoa(s.port))
}

// Endpoint returns the endpoint of one user; [UserHub] and [UserMember] always exist.
// Error kind: NotFound.
func (s *Server) Endpoint(who string) (Endpoint, error) {
	s.mu.Lock()
	url := s.clientURL()
	s.mu.Unlock()
	pass, ok := s.users.passwordOf(who)
	if !ok {
		return Endpoint{}, fika.Errorf(fika.NotFound, "find credentials", "the bus has no user %q", who)
	}
	return Endpoint{URL: url, User: who, Password: pass, Inbox: inboxOf(who)}, nil
}

// EnsureAgent creates a credential for an agent that has none. It works at once; nobody
// is disconnected.
func (s *Server) EnsureAgent(name fika.AgentName) error {
	return s.users.ensurePasswords(AgentUser(name))
}

// Restart stops the server and starts it again on the same port, as a remedy for a store
// that has stopped taking writes. Clients reconnect by themselves.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.stopServer(ctx); err != nil {
		return err
	}
	return s.startOn(ctx)
}

// Shutdown stops the server and removes hub.json. It may be called again. If ctx ends
// first, the server may still have its folder open: the caller must keep the lock until
// the process ends.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ns == nil {
		return nil // hub.json may belong to the next hub by now
	}
	err := os.Remove(hubPath(s.opts.RunDir))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	stopErr := s.stopServer(ctx)
	if stopErr == nil {
		stopErr = s.receipts.closeFile()
	}
	return errors.Join(fika.Wrap(fika.Storage, "stop bus", err), stopErr)
}

func (s *Server) stopServer(ctx context.Context) error {
	if s.ns == nil {
		return nil
	}
	s.closeIntake(ctx)
	err := stopServer(ctx, s.ns)
	if err == nil {
		s.ns = nil
	}
	return err
}

// stopServer waits for ns to end. If ctx ends first, the waiting goroutine stays until
// the process ends, because the library's shutdown cannot be abandoned.
func stopServer(ctx context.Context, ns *server.Server) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		ns.Shutdown()
		ns.WaitForShutdown()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fika.Wrap("", "stop bus", ctx.Err())
	}
}

// newPassword returns 130 random bits as letters and digits.
func newPassword() string { return rand.Text() }
