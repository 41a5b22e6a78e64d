package web

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"fika"
)

// notPublic lists the ranges that the methods of netip.Addr do not cover and that lead
// to the machine, its network or nowhere. IPv6 ranges with an embedded IPv4 address are
// refused as a whole.
var notPublic = [...]string{
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "168.63.129.16/32",
	"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
}

// IsPublic reports whether an address may be fetched from: not loopback,
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

// checkURL parses the address that a model or a redirect names, before anything is
// resolved.
func checkURL(raw string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		return nil, fika.Errorf(fika.Invalid, "fetch", "the url cannot be read: give one like https://example.org/page")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fika.Errorf(fika.Invalid, "fetch", "only http and https can be fetched, not %q", u.Scheme)
	case u.Hostname() == "":
		return nil, fika.Errorf(fika.Invalid, "fetch", "the url names no host")
	case u.User != nil:
		return nil, fika.Errorf(fika.Invalid, "fetch", "a url with a user or password in it is not fetched")
	}
	if _, err := netip.ParseAddr(u.Hostname()); err != nil && looksNumeric(u.Hostname()) {
		return nil, fika.Errorf(fika.Denied, "fetch", "%q is an address in disguise: write it as four numbers with dots", u.Hostname())
	}
	return u, nil
}

// looksNumeric reports whether some resolvers would take host for an IPv4 address
// because its last part is a decimal, octal or hexadecimal number.
func looksNumeric(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	if rest, hex := strings.CutPrefix(last, "0x"); hex {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// lookup resolves a host name; outside tests it is net.DefaultResolver.
type lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)

// dialer connects only to addresses that were checked.
type dialer struct {
	lookup       lookup
	allowPrivate bool
	net          net.Dialer
}

// dialChecked resolves a name, checks the addresses, and dials the checked address
// itself, so that a second answer of the name server cannot redirect the connection.
func (d *dialer) dialChecked(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := d.resolveHost(ctx, host)
	if err != nil {
		return nil, err
	}
	var last error
	for _, ip := range addrs {
		if !d.allowPrivate && !IsPublic(ip) {
			last = fika.Errorf(fika.Denied, "fetch", "%s is %s, which is not a public address: it is not fetched", host, ip)
			continue
		}
		conn, err := d.net.DialContext(ctx, network, net.JoinHostPort(ip.Unmap().String(), port))
		if err == nil {
			return conn, nil
		}
		last = err
	}
	return nil, last
}

func (d *dialer) resolveHost(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	if looksNumeric(host) {
		return nil, fika.Errorf(fika.Denied, "fetch", "%q is an address in disguise", host)
	}
	addrs, err := d.lookup(ctx, "ip", host)
	if err == nil && len(addrs) == 0 {
		err = fika.Errorf(fika.NotFound, "fetch", "%s has no address", host)
	}
	return addrs, err
}
