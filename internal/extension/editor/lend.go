package editor

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"fika"
	"fika/internal/system/socket"
	"fika/internal/text/safetext"
)

// loan is what the two sides say first: what is lent.
type loan struct {
	Servers []Server `json:"servers"`
}

// maxLine bounds what one side reads of the other at once, and patience how long it waits.
const (
	maxLine  = 1 << 20 // the servers of a session, written as JSON with escapes, have less
	maxTold  = 2 << 10
	patience = 5 * time.Second
)

// Lender lends servers to the agents of a session.
type Lender struct {
	path string
	at   net.Listener
	made os.FileInfo // of the socket
	text []byte
	tell func(string)

	mu     sync.Mutex
	lent   map[net.Conn]bool
	closed bool
	all    sync.WaitGroup
}

// Lend lends servers at a socket, in place of whoever did before, until the lender is
// closed. tell is told, from other goroutines, what agents say of the servers. Error kind:
// Storage.
func Lend(path string, servers []Server, tell func(string)) (*Lender, error) {
	text, err := json.Marshal(loan{servers})
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err != nil {
		return nil, fika.Wrap(fika.Storage, "lend MCP servers", err)
	}
	sweep(filepath.Dir(path))
	l := &Lender{path: path, text: append(text, '\n'), tell: tell, lent: map[net.Conn]bool{}}
	made := path + "." + rand.Text()[:8] // moved into its place when it answers
	if l.at, err = socket.Listen(made); err != nil {
		return nil, fika.Wrap(fika.Storage, "lend MCP servers", err)
	}
	if l.made, err = os.Lstat(made); err == nil {
		err = os.Rename(made, path)
	}
	if err != nil {
		_ = l.at.Close() // the error before says more
		_ = os.Remove(made)
		return nil, fika.Wrap(fika.Storage, "lend MCP servers", err)
	}
	l.all.Go(l.serve)
	return l, nil
}

// sweep removes the sockets of editors that were killed.
func sweep(dir string) {
	list, _ := os.ReadDir(dir) // there is none: nothing to sweep
	for _, f := range list {
		path := filepath.Join(dir, f.Name())
		before, err := os.Lstat(path)
		if err != nil || time.Since(before.ModTime()) < time.Minute {
			continue
		}
		c, err := socket.Dial(path)
		if err == nil {
			_ = c.Close() // it is served
			continue
		}
		if now, err := os.Lstat(path); err == nil && os.SameFile(now, before) {
			_ = os.Remove(path) // next time, if not now
		}
	}
}

// Close ends it for all agents. It may be called twice.
func (l *Lender) Close() error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		_ = l.at.Close()
		// First the path: whoever has seen the end may lend there anew.
		if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.made) {
			_ = os.Remove(l.path) // else the next lender sweeps it
		}
		for c := range l.lent {
			_ = c.Close()
		}
	}
	l.mu.Unlock()
	l.all.Wait()
	return nil
}

func (l *Lender) serve() {
	for {
		c, err := l.at.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		if l.closed {
			_ = c.Close()
		} else {
			l.lent[c] = true
			l.all.Go(func() { l.lendTo(c) })
		}
		l.mu.Unlock()
	}
}

// lendTo says what is lent, and passes on what is said of it, until either side has enough.
func (l *Lender) lendTo(c net.Conn) {
	defer func() {
		l.mu.Lock()
		delete(l.lent, c)
		l.mu.Unlock()
		_ = c.Close()
	}()
	_ = c.SetWriteDeadline(time.Now().Add(patience))
	if _, err := c.Write(l.text); err != nil {
		return
	}
	for lines := bufio.NewReaderSize(c, maxTold); ; {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return
		}
		l.tell(safetext.Line(string(line)))
	}
}

// Borrowed are the servers of a session, as the process of an agent has them. It is safe
// for concurrent use.
type Borrowed struct {
	Servers []Server
	Lender  int // the process that lends them; 0: unknown

	conn net.Conn
	at   string
	made os.FileInfo
	over chan struct{}
	once sync.Once
	mu   sync.Mutex // held while something is told
}

// Borrow returns the servers that are lent at a socket; nil: none are. Error kinds: Denied
// for a socket of another user, Invalid for an answer that is none.
func Borrow(path string) (*Borrowed, error) {
	made, err := os.Lstat(path)
	if err != nil {
		return nil, nil
	}
	c, err := socket.Dial(path)
	if err != nil {
		return nil, nil // it was killed
	}
	b := &Borrowed{conn: c, at: path, made: made, over: make(chan struct{})}
	pid, uid, known := socket.Peer(c)
	if known && uid != os.Geteuid() {
		_ = c.Close()
		return nil, fika.Errorf(fika.Denied, "", "the MCP servers of an editor at %s are another user's", path)
	}
	b.Lender = pid
	_ = c.SetReadDeadline(time.Now().Add(patience))
	lines := bufio.NewReader(io.LimitReader(c, maxLine))
	line, err := lines.ReadBytes('\n')
	var l loan
	if err == nil {
		err = json.Unmarshal(line, &l)
	}
	if err != nil {
		_ = c.Close()
		return nil, fika.Errorf(fika.Invalid, "", "the MCP servers of an editor at %s cannot be read", path)
	}
	_ = c.SetReadDeadline(time.Time{})
	b.Servers = l.Servers
	go b.await()
	return b, nil
}

// await ends when the lender does.
func (b *Borrowed) await() {
	_, _ = io.Copy(io.Discard, b.conn)
	b.once.Do(func() { close(b.over) })
	_ = b.conn.Close()
}

// Over is closed when the servers are not lent any more.
func (b *Borrowed) Over() <-chan struct{} { return b.over }

// IsNow reports whether these are still the servers that are lent there.
func (b *Borrowed) IsNow() bool {
	select {
	case <-b.over:
		return false
	default:
	}
	now, err := os.Lstat(b.at)
	return err == nil && os.SameFile(now, b.made)
}

// Tell tells the person at the editor something about the servers, in one line.
func (b *Borrowed) Tell(text string) {
	line := safetext.Line(text)
	line = line[:min(len(line), maxTold-8)]
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.conn.SetWriteDeadline(time.Now().Add(patience))
	_, _ = b.conn.Write(append([]byte(line), '\n')) // an editor that is gone needs to know nothing
}

// Close gives them back. It may be called twice.
func (b *Borrowed) Close() { _ = b.conn.Close() }
