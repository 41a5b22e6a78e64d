package address

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"fika"
)

// Host is a destination that a person has named: a host, or all hosts below one. The
// zero value matches nothing.
type Host struct {
	Name  string // lower case, without a final dot; an address as netip writes it
	Below bool   // the names below Name, at any depth, and not Name itself
	Port  int    // 0: 443 with TLS, 80 without
	// Addr is dialled in place of what the name resolves to, if it is valid. It may be
	// private: whoever wrote it has decided that.
	Addr    netip.AddrPort
	Private bool // the name may resolve to addresses that are not public
}

// ParseHost reads NAME, NAME:PORT, *.NAME, and any of these with =ADDRESS:PORT or
// =private. Error kind: Invalid.
func ParseHost(text string) (Host, error) {
	wrong := func(why string) (Host, error) {
		return Host{}, fika.Errorf(fika.Invalid, "", "%.80q %s: write NAME, NAME:PORT, *.NAME, NAME=ADDRESS:PORT or NAME=private", text, why)
	}
	name, to, pinned := strings.Cut(strings.ToLower(strings.TrimSpace(text)), "=")
	var h Host
	switch {
	case strings.Contains(name, "/"):
		return wrong("is not the name of a host")
	case !pinned:
	case to == "private":
		h.Private = true
	default:
		addr, err := netip.ParseAddrPort(to)
		if err != nil || addr.Port() == 0 || addr.Addr().Zone() != "" {
			return wrong("names an address that cannot be read")
		}
		h.Addr = addr
	}
	name, h.Below = strings.CutPrefix(name, "*.")
	if host, port, err := net.SplitHostPort(name); err == nil {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return wrong("names a port that is not one")
		}
		name, h.Port = host, int(n)
	}
	h.Name = canonical(name)
	ip, err := netip.ParseAddr(h.Name)
	switch {
	case ip.Zone() != "":
		return wrong("has an address with a zone")
	case err == nil && h.Below:
		return wrong("has an address where a name is needed")
	case err == nil:
		return h, nil
	case !isName(h.Name):
		return wrong("is not the name of a host")
	case LooksNumeric(h.Name):
		return wrong("is an address in disguise")
	case h.Below && !strings.Contains(h.Name, "."):
		return wrong("stands for every host of a top-level domain")
	}
	return h, nil
}

// Matches reports whether host and port, as a client asks for them, are the destination.
// usual is the port of a destination that names none.
func (h Host) Matches(host string, port, usual int) bool {
	if h.Port != 0 {
		usual = h.Port
	}
	if h.Name == "" || port != usual {
		return false
	}
	host = canonical(host)
	if h.Below {
		sub, ok := strings.CutSuffix(host, "."+h.Name)
		return ok && isName(sub)
	}
	return host == h.Name
}

// canonical returns a host as [Host.Name] holds it.
func canonical(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")); err == nil && ip.Zone() == "" {
		return ip.Unmap().String()
	}
	return host
}

// isName reports whether s has the form of a host name: letters, digits, hyphens and
// underscores in parts of at most 63 characters (RFC 1123; underscores occur all the same).
func isName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || len(part) > 63 || part[0] == '-' || part[len(part)-1] == '-' ||
			strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}
