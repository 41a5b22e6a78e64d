package address

import (
	"net/netip"
	"strings"
)

// Loopback reports whether host, a name or an address without a port, is this
// machine and reachable from nowhere else. Of names only localhost is one, with
// or without a dot at its end: what others lead to is up to somebody else.
func Loopback(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
