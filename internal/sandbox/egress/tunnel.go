package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"fika"
)

// tunnel answers CONNECT: it passes bytes on in both directions, once the first of them
// begin a TLS connection with the host that was asked for. So nobody tunnels another
// protocol, or reaches a host behind another one's name.
func (s *served) tunnel(w http.ResponseWriter, r *http.Request) {
	h, err := s.proxy.find(r.Host, 443)
	if err != nil {
		s.refuse(w, r.Host, err)
		return
	}
	far, err := s.connect(r.Context(), h, r.Host)
	if err != nil {
		s.failed(w, r.Host, err)
		return
	}
	defer far.Close()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "no tunnel", http.StatusInternalServerError)
		return
	}
	defer near.Close()
	if !s.keep(near, far) {
		return
	}
	defer s.forget(near, far)
	_ = near.SetDeadline(time.Now().Add(helloTime))
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	first, err := checkHello(r.Context(), near, buffered.Reader, r.Host)
	if err != nil {
		s.note(&s.traffic.Refused, r.Host+" ("+err.Error()+")")
		return
	}
	_ = near.SetDeadline(time.Time{})
	if _, err := far.Write(first); err == nil {
		pass(near, far)
	}
}

// keep remembers the ends of a tunnel, so that it ends with the proxy. It reports false
// if the proxy has ended.
func (s *served) keep(conns ...net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range conns {
		s.tunnels[c] = true
	}
	return !s.ended
}

func (s *served) forget(conns ...net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range conns {
		delete(s.tunnels, c)
	}
}

// pass copies in both directions until both have ended.
func pass(a, b net.Conn) {
	var both sync.WaitGroup
	for _, ends := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			_, err := io.Copy(ends[0], ends[1])
			half, ok := ends[0].(interface{ CloseWrite() error })
			if err != nil || !ok || half.CloseWrite() != nil {
				a.Close()
				b.Close()
			}
		})
	}
	both.Wait()
}

// errHeard ends a handshake once its first message is known.
var errHeard = errors.New("heard")

// checkHello reads the first message of a TLS handshake and returns its bytes, with all
// that is buffered behind it. It fails with Denied unless the message names the host; a
// host that is an address has no name there.
func checkHello(ctx context.Context, conn net.Conn, buffered *bufio.Reader, hostPort string) ([]byte, error) {
	var first bytes.Buffer
	name, heard := "", false
	// The handshake is not continued: a server is only the library's way to read its
	// first message.
	err := tls.Server(reading{conn, io.TeeReader(buffered, &first)}, &tls.Config{
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			name, heard = hello.ServerName, true
			return nil, errHeard
		},
	}).HandshakeContext(ctx)
	if !heard {
		return nil, fika.Errorf(fika.Denied, "", "not TLS: %v", err)
	}
	host, _, _ := net.SplitHostPort(hostPort)
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	_, err = netip.ParseAddr(strings.Trim(host, "[]"))
	if literal := err == nil && name == ""; !literal && strings.ToLower(strings.TrimSuffix(name, ".")) != host {
		return nil, fika.Errorf(fika.Denied, "", "TLS for %.100q", name)
	}
	rest, _ := buffered.Peek(buffered.Buffered()) // cannot fail: it is there
	return append(first.Bytes(), rest...), nil
}

// reading is a connection of which only the reading side is used.
type reading struct {
	net.Conn
	from io.Reader
}

func (r reading) Read(b []byte) (int, error) { return r.from.Read(b) }

func (r reading) Write(b []byte) (int, error) { return len(b), nil }

func (r reading) Close() error { return nil }
