package web

import (
	"net/netip"
	"net/url"
	"strings"

	"fika"
	"fika/internal/system/address"
)

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
	if _, err := netip.ParseAddr(u.Hostname()); err != nil && address.LooksNumeric(u.Hostname()) {
		return nil, fika.Errorf(fika.Denied, "fetch", "%q is an address in disguise: write it as four numbers with dots", u.Hostname())
	}
	return u, nil
}
