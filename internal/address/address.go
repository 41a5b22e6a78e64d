package address

import (
	"net/netip"
	"net/url"
	"strings"
)

// IsLoopback reports whether host, a name or an address without a port, is this
// machine and reachable from nowhere else. Of names only localhost is one, with
// or without a dot at its end: what others lead to is up to somebody else.
func IsLoopback(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// LoopbackURL reports whether the host of a URL is this machine, as [IsLoopback]
// means it. A text that is no URL is not.
func LoopbackURL(server string) bool {
	u, err := url.Parse(server)
	return err == nil && IsLoopback(u.Hostname())
}
