package confine

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"fika/internal/sandbox"
	"fika/internal/system/address"
	"fika/internal/tool"
	"fika/internal/tool/proc"
)

// A command without the network reaches the hosts that are named for it, through the
// proxy alone; another command of the agent is not told of it. What was asked for is
// known afterwards.
func TestNamedHostsAreReached(t *testing.T) {
	answer := func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello from ", r.Host) }
	plain := httptest.NewServer(http.HandlerFunc(answer))
	defer plain.Close()
	safe := httptest.NewUnstartedServer(http.HandlerFunc(answer))
	safe.Config.ErrorLog = log.New(io.Discard, "", 0)
	safe.StartTLS()
	defer safe.Close()
	home, err := os.UserHomeDir() // rather than /tmp, which a sandbox replaces
	must(t, err)
	dir, err := os.MkdirTemp(home, "fika-proxy-")
	must(t, err)
	defer os.RemoveAll(dir)
	o := Options{Probe: &Probe{}, Mode: sandbox.Best, Getenv: os.Getenv}
	if s, err := o.Probe.Open(o.Mode); err != nil || s.Tier() != sandbox.Full {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the full sandbox has to work in CI: %v", err)
		}
		t.Skip("the full sandbox does not work here")
	}
	for _, text := range []string{"plain.test:80=" + plain.Listener.Addr().String(), "safe.test=" + safe.Listener.Addr().String()} {
		h, err := address.ParseHost(text)
		must(t, err)
		o.Hosts = append(o.Hosts, h)
	}
	curl, err := exec.LookPath("curl")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("curl has to be there in CI")
		}
		t.Skip("curl is not installed")
	}
	run := func(confine tool.Confinement, args ...string) (string, tool.Traffic) {
		t.Helper()
		e, err := proc.Run(t.Context(), proc.Cmd{Path: curl, Args: append([]string{"-sS", "-m", "20"}, args...), Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}, Confine: confine})
		must(t, err)
		return e.Output.Text, e.Traffic
	}
	tools := New(o).Tools(dir)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"http://plain.test/"}, "hello from plain.test"},
		{[]string{"-k", "https://safe.test/"}, "hello from safe.test"},
		{[]string{"http://other.test/"}, "refused: other.test:80"},
		{[]string{"--noproxy", "*", plain.URL}, "curl: ("},
		{[]string{"--noproxy", "*", "--resolve", "safe.test:443:1.1.1.1", "-k", "https://safe.test/"}, "curl: ("},
		{[]string{"--noproxy", "*", "telnet://" + plain.Listener.Addr().String()}, "curl: ("},
		{[]string{"--noproxy", "*", "-m", "2", "tftp://" + plain.Listener.Addr().String() + "/secret"}, "curl: ("},
		{[]string{"--noproxy", "*", "http://[::ffff:127.0.0.1]:" + port(plain) + "/"}, "curl: ("},
		{[]string{"--noproxy", "*", "http://2130706433:" + port(plain) + "/"}, "curl: ("},
		{[]string{"--noproxy", "*", "http://c2VjcmV0.plain.test/"}, "curl: ("},
		{[]string{"-x", "socks5h://127.0.0.1:61080", "http://plain.test/"}, "curl: ("},
		{[]string{"-k", "--connect-to", "other.test:443:safe.test:443", "https://other.test/"}, "curl: ("},
	} {
		out, traffic := run(tools, c.args...)
		if !strings.Contains(out, c.want) {
			t.Errorf("%v: %q", c.args, out)
		}
		if reached := len(traffic.Reached) > 0; reached != strings.HasPrefix(c.want, "hello") && !slices.Contains(c.args, "--connect-to") {
			t.Errorf("%v: %+v", c.args, traffic)
		}
	}
	for name, confine := range map[string]tool.Confinement{
		"a server": New(o).Server(dir, false), "a plugin": New(o).Plugin("p", curl, dir, false),
	} {
		if out, traffic := run(confine, "-x", "http://127.0.0.1:61080", "http://plain.test/"); strings.Contains(out, "hello") || len(traffic.Reached) > 0 {
			t.Errorf("%s: %q, %+v", name, out, traffic)
		}
	}
}

func port(s *httptest.Server) string {
	addr := s.Listener.Addr().String()
	return addr[strings.LastIndexByte(addr, ':')+1:]
}
