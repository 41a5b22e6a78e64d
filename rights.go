package fika

import "slices"

// Rights are what a request may do at most, whatever its agent may. A nil
// *Rights sets no bound: that of a request that a person has made.
type Rights struct {
	Tools    []string `json:"tools"`               // the only ones, by name
	Sandbox  string   `json:"sandbox,omitempty"`   // how processes are confined at least: "off", "best" or "required"
	ReadOnly bool     `json:"read_only,omitempty"` // processes cannot write the workspace
	Network  bool     `json:"network,omitempty"`   // processes reach the network
	Lend     []string `json:"lend,omitempty"`      // of what is hidden from them, what they can read after all
	// Hosts are those that people have named along the way: what has read text
	// from outside fetches them without asking again.
	Hosts []string `json:"hosts,omitempty"`
	// Fixed says that the bound holds whatever a person says of agents among each
	// other: it comes from outside.
	Fixed bool `json:"fixed,omitempty"`
}

// IntersectWith are the rights that r and limit have in common, which neither exceeds.
func (r *Rights) IntersectWith(limit *Rights) *Rights {
	switch {
	case r == nil:
		return limit
	case limit == nil:
		return r
	}
	return &Rights{
		Tools: append([]string{}, common(r.Tools, limit.Tools)...), Sandbox: stricter(r.Sandbox, limit.Sandbox),
		ReadOnly: r.ReadOnly || limit.ReadOnly, Network: r.Network && limit.Network,
		Lend: common(r.Lend, limit.Lend), Hosts: common(r.Hosts, limit.Hosts), Fixed: r.Fixed || limit.Fixed,
	}
}

// AllowsTool reports whether a tool may be called.
func (r *Rights) AllowsTool(tool string) bool { return r == nil || slices.Contains(r.Tools, tool) }

// common is what both lists have, in the order of the first.
func common(a, b []string) []string {
	var out []string
	for _, s := range a {
		if slices.Contains(b, s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// stricter is the stronger of two ways to confine processes; one that is not
// known counts as the strongest.
func stricter(a, b string) string {
	if strength(a) < strength(b) {
		return b
	}
	return a
}

func strength(sandbox string) int {
	switch sandbox {
	case "off":
		return 0
	case "", "best":
		return 1
	}
	return 2
}

// Taint says that text from outside had been read when something was written.
// The zero value says that none had.
type Taint struct {
	From string `json:"from"` // what was read, as in "fetch example.org"
	// Seq is that of the entry which brought the text into the conversation; 0:
	// the entry itself did. When that one is out of an agent's window, the taint
	// is gone.
	Seq int64 `json:"seq,omitempty"`
}

// Tainted reports whether text from outside had been read.
func (t Taint) Tainted() bool { return t.From != "" }
