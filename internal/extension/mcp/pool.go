package mcp

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"fika"
	"fika/internal/system/process"
	"fika/internal/tool"
)

// Options are shared by all servers of one process.
type Options struct {
	Pins     Pins
	Log      func(server string) (io.WriteCloser, error) // opens the log of a server
	LogPath  func(server string) string                  // path of the log, for people
	Children *process.Children                           // nil: only process groups are ended
	Dir      string                                      // working folder of servers that nothing confines
	Version  string                                      // of fika
	// Mark is in the environment of the processes, so that those left behind by a crash
	// can be found. Owned says that only this process starts servers with it.
	Mark  string
	Owned bool
	// Idle is how long a server that is not called is kept; 0: until Close.
	Idle time.Duration
	// KeepFile stores data that cannot be shown as text, and returns its path; nil:
	// nothing is stored.
	KeepFile func(name string, data []byte) (path string, err error)
	// Pictures keeps pictures and documents for the model to see; nil: it reads about them.
	Pictures tool.Keeper
}

// maxAlike is how many processes of one server may run at once, each for another folder
// or other rights.
const maxAlike = 4

// margin is the longest time that ending a timed-out call takes.
const margin = 5 * time.Second

// tookTooLong is the cause of a context whose time for a server is over.
type tookTooLong time.Duration

func (t tookTooLong) Error() string { return "it did not answer within " + time.Duration(t).String() }

// bound returns a context for one exchange with a server.
func (s Server) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.Timeout, tookTooLong(s.Timeout))
}

// Pool holds the connected servers. It is safe for concurrent use; Close ends all
// servers.
type Pool struct {
	opts Options

	mu      sync.Mutex
	running map[string]*running // by server and confinement
	ending  map[string]*session // those that are being ended because they were idle
	idle    sync.WaitGroup      // of ending
	closed  bool
}

// running is a server that is connected or being connected.
type running struct {
	name   string
	ready  chan struct{} // closed when on or err is set
	on     *session
	err    error
	before *session // whose place it takes; nil: nobody's

	calls int // that use it now; guarded by the pool's mu
	used  time.Time
	timer *time.Timer // ends it when it has been idle for long enough; nil: it is in use
}

// NewPool returns a pool without servers.
func NewPool(o Options) *Pool {
	return &Pool{opts: o, running: map[string]*running{}, ending: map[string]*session{}}
}

// Close ends all servers. It may be called twice.
func (p *Pool) Close() error {
	p.mu.Lock()
	all := p.running
	p.running, p.closed = map[string]*running{}, true
	p.mu.Unlock()
	var done sync.WaitGroup
	for _, r := range all {
		if r.timer != nil {
			r.timer.Stop()
		}
		done.Go(func() {
			<-r.ready
			if r.on != nil {
				r.on.close()
			}
		})
	}
	done.Wait()
	p.idle.Wait()
	return nil
}

// use returns a connected server, starting it if it is not running. The caller must call
// the returned function when done.
func (p *Pool) use(ctx context.Context, s Server, c Confinement) (*session, func(), error) {
	key := s.Name + "\x00" + s.identity()
	if c != nil && s.URL == "" {
		key += "\x00" + c.Key()
	}
	r, first, err := p.findOrPlace(key, s)
	if err != nil {
		return nil, nil, err
	}
	if first {
		p.connect(ctx, r, s, c)
	}
	select {
	case <-r.ready:
	case <-ctx.Done():
		p.leave(key, r)
		return nil, nil, fika.Wrap(fika.Interrupted, "mcp server "+s.Name, context.Cause(ctx))
	}
	if r.err != nil {
		p.drop(key, r)
		return nil, nil, r.err
	}
	return r.on, func() { p.leave(key, r) }, nil
}

// findOrPlace finds a server or reserves a place for it; first reports that the caller
// has to connect it.
func (p *Pool) findOrPlace(key string, s Server) (r *running, first bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, fika.Errorf(fika.Interrupted, "mcp server "+s.Name, "this process is ending")
	}
	r = p.running[key]
	var before *session
	if r != nil && r.isReady() && r.on != nil && r.on.gone() {
		delete(p.running, key)
		before, r = r.on, nil
	}
	if r == nil {
		if before == nil {
			before = p.ending[key]
		}
		p.makeRoom(s.Name)
		r = &running{name: s.Name, ready: make(chan struct{}), before: before}
		p.running[key] = r
		first = true
	}
	r.calls++
	r.used = time.Now()
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	return r, first, nil
}

func (r *running) isReady() bool {
	select {
	case <-r.ready:
		return true
	default:
		return false
	}
}

// makeRoom ends the least recently used idle process of a server if maxAlike of them run
// for different folders or rights.
func (p *Pool) makeRoom(name string) {
	var oldest string
	n := 0
	for key, r := range p.running {
		if r.name != name {
			continue
		}
		n++
		if r.calls == 0 && (oldest == "" || r.used.Before(p.running[oldest].used)) {
			oldest = key
		}
	}
	if n < maxAlike || oldest == "" {
		return
	}
	r := p.running[oldest]
	delete(p.running, oldest)
	go func() {
		<-r.ready
		if r.on != nil {
			r.on.close()
		}
	}()
}

func (p *Pool) connect(ctx context.Context, r *running, s Server, c Confinement) {
	defer close(r.ready)
	if r.before != nil {
		r.before.close() // first, because ending it also ends what has the same mark
	}
	if s.URL == "" && p.opts.Owned && p.alone(s.Name) {
		process.EndMarked(p.mark(s.Name)) // what a killed process of this agent left running
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	r.on, r.err = connect(ctx, p.opts, s, c, p.mark(s.Name))
}

// alone reports whether only one process of a server is running or being started here.
func (p *Pool) alone(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, r := range p.running {
		if r.name == name {
			n++
		}
	}
	return n == 1
}

func (p *Pool) mark(server string) string { return p.opts.Mark + "/" + server }

func (p *Pool) leave(key string, r *running) {
	p.mu.Lock()
	r.calls--
	r.used = time.Now()
	if r.calls == 0 && p.opts.Idle > 0 && !p.closed {
		r.timer = time.AfterFunc(p.opts.Idle, func() { p.endIdle(key, r) })
	}
	p.mu.Unlock()
	if r.isReady() && r.err != nil {
		p.drop(key, r)
	}
}

// endIdle ends a server that nothing has used since its timer was set.
func (p *Pool) endIdle(key string, r *running) {
	p.mu.Lock()
	if p.closed || r.calls > 0 || r.timer == nil || p.running[key] != r || !r.isReady() || r.on == nil {
		p.mu.Unlock()
		return
	}
	delete(p.running, key)
	p.ending[key] = r.on
	p.idle.Add(1)
	p.mu.Unlock()
	defer p.idle.Done()
	r.on.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ending[key] == r.on {
		delete(p.ending, key)
	}
}

// drop forgets a server that could not be connected, so that the next call tries again.
func (p *Pool) drop(key string, r *running) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running[key] == r {
		delete(p.running, key)
	}
}

// Ask connects to a server and returns what it says about its tools now.
func (p *Pool) Ask(ctx context.Context, s Server, c Confinement) (Listing, error) {
	on, done, err := p.use(ctx, s, c)
	if err != nil {
		return Listing{}, p.trouble(s, err)
	}
	defer done()
	ctx, cancel := s.bound(ctx)
	defer cancel()
	l, err := on.current(ctx)
	return l, p.trouble(s, err)
}

// trouble adds to an error which server it was and where its log is.
func (p *Pool) trouble(s Server, err error) error {
	if err == nil {
		return nil
	}
	if why := loginRequired(""); errors.As(err, &why) {
		return fika.Wrap(fika.Denied, "mcp server "+s.Name, why)
	}
	return fika.Errorf(fika.KindOf(err), "mcp server "+s.Name, "%s%s", words(err), p.seeLog(s))
}

func (p *Pool) seeLog(s Server) string {
	if s.URL != "" || p.opts.LogPath == nil {
		return ""
	}
	return " (its log: " + p.opts.LogPath(s.Name) + ")"
}

// words returns the message of an error without its operation.
func words(err error) string {
	var own *fika.Error
	var login loginRequired
	switch {
	case errors.As(err, &login):
		return login.Error()
	case errors.As(err, &own) && own.Msg != "":
		return own.Msg
	}
	return err.Error()
}

// Pinned returns what agents are told about a server. A server that has never listed its
// tools is asked, and its answer is kept; if it fails to answer, it is left alone for a
// while, as [Pin.Failure] says.
func (p *Pool) Pinned(ctx context.Context, s Server, confine func() Confinement) (Pin, error) {
	pins := p.opts.Pins
	pin := pins.Load(s)
	if pin.WasAsked() {
		return pin, nil
	}
	if err := pins.resting(s, pin); err != nil {
		return pin, err
	}
	var c Confinement
	if confine != nil {
		c = confine()
	}
	l, err := p.Ask(ctx, s, c)
	if err != nil {
		if ctx.Err() == nil {
			pin.Failure = words(err)
			_ = pins.NoteFailure(s, err) // err is reported in any case
		}
		return pin, err
	}
	return pins.NoteAgreed(s, l)
}
