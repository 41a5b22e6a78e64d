package guard

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"fika"
)

// The values of [guard] rights: an agent caused to work by another one has its own
// rights, or only those that both have.
const (
	RightsOwn   = "own"
	RightsLeast = "least"
)

// The values of [guard] tainted.
const (
	TaintTighten = "tighten" // notes for later turns are not written, new hosts ask, rights are least
	TaintOffline = "offline" // as tighten, and nothing reaches the network
	TaintAllow   = "allow"   // it is noted but has no consequences
)

// Policy is a person's choice about rights and text from outside. The zero value is own
// and tighten.
type Policy struct {
	Rights string
	Taint  string
}

// EffectiveRights returns the rights of a turn: its agent's own but, if the policy wants
// the least, the turn has read text from outside or cause is fixed, no more than those
// of whoever caused it. own must not be nil.
func (p Policy) EffectiveRights(own, cause *fika.Rights, tainted bool) *fika.Rights {
	tainted = tainted && p.Taint != TaintAllow
	r := *own
	if cause != nil {
		r.Hosts = cause.Hosts // named by a person on the way; not a right of the agent's own
		if p.Rights == RightsLeast || tainted || cause.Fixed {
			bound := *cause
			r = *r.IntersectWith(&bound)
		}
	}
	if tainted && p.Taint == TaintOffline {
		r.Network, r.Reach = false, nil
		if r.Sandbox == "off" { // off would confine nothing
			r.Sandbox = "best"
		}
		r.Tools = slices.DeleteFunc(slices.Clone(r.Tools), func(t string) bool { return t == "fetch" })
	}
	return &r
}

// maxHosts bounds how many hosts named by people a request remembers.
const maxHosts = 64

// PassedRights returns the rights that go with what a turn causes: its own, with the
// hosts that people have named.
func PassedRights(effective *fika.Rights, named []string) *fika.Rights {
	if effective == nil {
		return nil
	}
	r := *effective
	r.Hosts = slices.Clone(r.Hosts)
	for _, h := range named {
		if !slices.Contains(r.Hosts, h) && len(r.Hosts) < maxHosts {
			r.Hosts = append(r.Hosts, h)
		}
	}
	return &r
}

// Tighten tightens a decision in a turn that has read text from outside: the turn may
// not write what would outlast it, and a host that neither a person nor a rule has named
// asks or, if the policy is offline, every host is denied. named lists the hosts that
// people have named.
func (p Policy) Tighten(c Call, d Decision, named []string) Decision {
	switch {
	case p.Taint == TaintAllow, d.Do == Deny:
		return d
	case outlasts(c.Tool):
		return Decision{Do: Deny, What: c.Tool, Why: "this turn has read text from outside, which must not become instructions of later turns ([guard] tainted); a person can write it"}
	case p.Taint == TaintOffline && c.Host != "":
		return Decision{Do: Deny, What: c.Host, Why: "this turn has read text from outside and stays offline ([guard] tainted)"}
	case c.Host == "" || d.Do == Ask || d.Rule != nil && d.Rule.Host != "" || slices.Contains(named, strings.ToLower(c.Host)):
		return d
	}
	return Decision{Do: Ask, What: c.Host, Why: "this turn has read text from outside, and no person has named this host ([guard] tainted)"}
}

// outlasts reports whether a tool writes what later turns take for instructions.
func outlasts(tool string) bool {
	return tool == "update_reflection" || tool == "create_context"
}

// HostsIn lists the hosts that a text names, in addresses or on their own.
func HostsIn(text string) []string {
	var out []string
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune(`<>()[]{}"'`+"`,;|", r)
	}) {
		if h := hostOf(strings.TrimRight(word, ".:!?")); h != "" && !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// hostOf returns the host that a word names, or "".
func hostOf(word string) string {
	if i := strings.Index(word, "://"); i > 0 {
		u, err := url.Parse(word)
		if err != nil || u.User != nil { // the host is not what it seems
			return ""
		}
		return strings.ToLower(u.Hostname())
	}
	word, _, _ = strings.Cut(word, "/")
	u, err := url.Parse("//" + word)
	if err != nil || u.User != nil {
		return ""
	}
	host := strings.ToLower(u.Hostname())
	if _, err := netip.ParseAddr(host); err == nil || host == "localhost" {
		return host
	}
	_, last, dotted := strings.Cut(host, ".")
	if !dotted || last == "" || strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" {
		return ""
	}
	return host
}

// The names in callable_by of everybody and of people.
const (
	Anyone = "*"
	User   = "user"
)

// MayCall reports whether who, the name of an agent or [User], may mention, message or
// delegate to an agent with this callable_by; nil permits everybody.
func MayCall(callableBy []string, who string) bool {
	return callableBy == nil || slices.Contains(callableBy, Anyone) || slices.Contains(callableBy, who)
}

// UncallableReason returns what somebody is told who may not call an agent.
func UncallableReason(callableBy []string, to fika.AgentName) string {
	if len(callableBy) == 0 {
		return string(to) + " takes work from nobody (callable_by = [])"
	}
	names := make([]string, len(callableBy))
	for i, n := range callableBy {
		if names[i] = n; n == User {
			names[i] = "people"
		}
	}
	return string(to) + " takes work from " + strings.Join(names, ", ") + " only (callable_by)"
}
