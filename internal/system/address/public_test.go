package address_test

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"fika"
	"fika/internal/system/address"
)

func TestPublic(t *testing.T) {
	for _, s := range []string{
		"127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "100.100.100.200",
		"224.0.0.1", "255.255.255.255", "240.0.0.1", "192.0.0.1", "198.18.0.1", "168.63.129.16", "203.0.113.5",
		"::1", "::", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254",
		"ff02::1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2001:db8::1", "2001::1", "fec0::1",
	} {
		if address.IsPublic(netip.MustParseAddr(s)) {
			t.Errorf("%s is taken for public", s)
		}
	}
	for _, s := range []string{"1.1.1.1", "93.184.216.34", "172.32.0.1", "::ffff:1.1.1.1", "2606:4700:4700::1111", "2a00:1450::1"} {
		if !address.IsPublic(netip.MustParseAddr(s)) {
			t.Errorf("%s is refused", s)
		}
	}
	if address.IsPublic(netip.Addr{}) {
		t.Error("no address at all is taken for public")
	}
}

// The name server that answers first with a public address, then with a
// private one, gains nothing: there is one answer for each connection.
func TestOneLookupForEachConnection(t *testing.T) {
	asked := 0
	d := &address.Dialer{Lookup: func(context.Context, string, string) ([]netip.Addr, error) {
		asked++
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}}
	if _, err := d.DialContext(t.Context(), "tcp", "rebind.example:80"); !fika.IsKind(err, fika.Denied) || asked != 1 {
		t.Errorf("asked %d times, %v", asked, err)
	}
}

func TestHosts(t *testing.T) {
	for text, asked := range map[string]map[string]bool{
		"proxy.example":         {"proxy.example:443": true, "PROXY.example.:443": true, "proxy.example:80": false, "proxy.example:22": false, "a.proxy.example:443": false, "evilproxy.example:443": false, "proxy.example.evil.test:443": false},
		"Registry.Example:8443": {"registry.example:8443": true, "registry.example:443": false},
		"*.example.org":         {"a.example.org:443": true, "a.b.example.org:443": true, "example.org:443": false, ".example.org:443": false, "-.example.org:443": false, "a..example.org:443": false, "xexample.org:443": false},
		"192.0.2.7":             {"192.0.2.7:443": true, "192.0.2.8:443": false, "::ffff:192.0.2.7:443": false},
		"[2001:db8::1]:443":     {"[2001:db8::1]:443": true, "[2001:DB8:0::1]:443": true, "[2001:db8::2]:443": false},
		"git.test=127.0.0.1:9":  {"git.test:443": true, "git.test:9": false},
		"git.test:80=private":   {"git.test:80": true, "git.test:443": false},
	} {
		h, err := address.ParseHost(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for hostPort, want := range asked {
			host, port, err := net.SplitHostPort(hostPort)
			if err != nil {
				continue
			}
			n, _ := strconv.Atoi(port)
			if got := h.Matches(host, n, 443); got != want {
				t.Errorf("%s matches %s: %v", text, hostPort, got)
			}
		}
	}
	for _, text := range []string{
		"", "*", "*.", "*.com", "*.10.0.0.1", "a b", "https://a.example", "a.example/x", "a..example", "-a.example", "a.example:0", "a.example:70000", "a.example:x",
		"a.example=", "a.example=10.0.0.1", "a.example=b:1", "a.example=10.0.0.1:0", "a.example=public", "0x7f.1", "127.1", "2130706433", "a@b.example", "a.*.example", "ä.example",
		"fe80::1%eth0", "a\x00.example", strings.Repeat("a.", 200) + "example",
	} {
		if h, err := address.ParseHost(text); !fika.IsKind(err, fika.Invalid) {
			t.Errorf("%q: %+v, %v", text, h, err)
		}
	}
	if (address.Host{}).Matches("", 443, 443) {
		t.Error("nothing matches")
	}
}

// What is accepted matches itself and nothing with another last part.
func FuzzHost(f *testing.F) {
	for _, s := range []string{"a.example", "*.a.example:1", "1.2.3.4", "[::1]:3", "x=private", "x=[::1]:4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := address.ParseHost(s)
		if err != nil {
			return
		}
		port := cmp.Or(h.Port, 443)
		name := h.Name
		if h.Below {
			name = "x." + name
		}
		if !h.Matches(name, port, 443) || h.Matches(name+".evil", port, 443) || h.Matches("evil"+name, port, 443) && !h.Below {
			t.Errorf("%q: %+v", s, h)
		}
	})
}
