package address

import (
	"net/netip"
	"net/url"
	"strings"
)

// IsLoopback reports whether host, a name or an address without a port, is this
// machine and cannot be reached from elsewhere. The only name that qualifies is
// localhost, with or without a trailing dot, because other names resolve to whatever
// their owners choose.
func IsLoopback(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// LoopbackURL reports whether the host of a URL is a loopback host, as [IsLoopback]
// defines it. It returns false for text that is not a URL.
func LoopbackURL(server string) bool {
	u, err := url.Parse(server)
	return err == nil && IsLoopback(u.Hostname())
}
