package address

import (
	"net/netip"
	"strings"
)

// notPublic lists the ranges that the methods of netip.Addr do not cover and that lead
// to the machine, its network or nowhere. IPv6 ranges with an embedded IPv4 address are
// refused as a whole.
var notPublic = [...]string{
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "168.63.129.16/32",
	"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
}

// IsPublic reports whether an address leads to the internet: it is not loopback,
// private, link-local (which is where clouds keep their metadata), multicast,
// unspecified, or reserved.
func IsPublic(ip netip.Addr) bool {
	if !ip.IsValid() || ip.Zone() != "" {
		return false
	}
	ip = ip.Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() {
		return false
	}
	for _, s := range notPublic {
		if p, err := netip.ParsePrefix(s); err != nil || p.Contains(ip) {
			return false
		}
	}
	return true
}

// LooksNumeric reports whether some resolvers would take host for an IPv4 address
// because its last part is a decimal, octal or hexadecimal number. It is true of
// ordinary IPv4 addresses as well.
func LooksNumeric(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	if rest, hex := strings.CutPrefix(last, "0x"); hex {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}
