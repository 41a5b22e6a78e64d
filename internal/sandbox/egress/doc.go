// Package egress lets a command without a network reach hosts that a person has named:
// it serves a proxy for HTTP and HTTPS on a listener that the command made inside its own
// network namespace. Nothing else leaves that namespace.
//
// It does not confine anything (package sandbox does), and it does not see what is sent:
// a host that is named is a way out for whatever the command can read.
//
// Read first: [Proxy], [Proxy.Serve]. How it fails: what is not allowed is refused with
// status 403 and listed in [Traffic]; a host that cannot be reached is status 502.
package egress
