package address

import (
	"context"
	"net"
	"net/netip"

	"fika"
)

// Dialer connects to hosts by addresses that it has checked. It is safe for concurrent
// use.
type Dialer struct {
	// Lookup resolves a host name, as the method of net.Resolver does; nil: that of
	// net.DefaultResolver.
	Lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
	// AllowPrivate permits addresses that are not public; see [IsPublic].
	AllowPrivate bool
	// Closed reports whether an address and port are refused whatever else holds; nil: none.
	Closed func(netip.AddrPort) bool

	net net.Dialer
}

// DialContext resolves the host of "host:port", checks its addresses, and dials a
// checked address itself, so that a second answer of the name server cannot redirect the
// connection. Error kinds: Denied for a host without a public address, NotFound.
func (d *Dialer) DialContext(ctx context.Context, network, hostPort string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	addrs, err := d.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	var last error
	for _, ip := range addrs {
		if !d.AllowPrivate && !IsPublic(ip) {
			last = fika.Errorf(fika.Denied, "", "%s is %s, which is not a public address", host, ip)
			continue
		}
		to := net.JoinHostPort(ip.Unmap().String(), port)
		if at, err := netip.ParseAddrPort(to); d.Closed != nil && (err != nil || d.Closed(at)) {
			last = fika.Errorf(fika.Denied, "", "%s is not for tools", hostPort)
			continue
		}
		conn, err := d.net.DialContext(ctx, network, to)
		if err == nil {
			return conn, nil
		}
		last = err
	}
	return nil, last
}

func (d *Dialer) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	if LooksNumeric(host) {
		return nil, fika.Errorf(fika.Denied, "", "%q is an address in disguise", host)
	}
	lookup := d.Lookup
	if lookup == nil {
		lookup = net.DefaultResolver.LookupNetIP
	}
	addrs, err := lookup(ctx, "ip", host)
	if err == nil && len(addrs) == 0 {
		err = fika.Errorf(fika.NotFound, "", "%s has no address", host)
	}
	return addrs, err
}
