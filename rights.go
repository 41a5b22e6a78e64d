package fika

import "slices"

// Rights bound what a request may do, whatever its agent may do. A nil *Rights sets no
// bound: it belongs to a request that a person made.
type Rights struct {
	Tools    []string `json:"tools"`               // the only tools that may be called, by name
	Sandbox  string   `json:"sandbox,omitempty"`   // the least confinement of processes: "off", "best" or "required"
	ReadOnly bool     `json:"read_only,omitempty"` // processes cannot write the workspace
	Network  bool     `json:"network,omitempty"`   // processes reach the network
	Lend     []string `json:"lend,omitempty"`      // hidden paths that processes can read all the same
	// Reach are the hosts that processes reach without Network.
	Reach []string `json:"reach,omitempty"`
	// Hosts are the hosts that people have named along the way: a request that has read
	// text from outside may fetch from them without asking again.
	Hosts []string `json:"hosts,omitempty"`
	// Fixed says that the bound holds whatever a person has set for agents among each
	// other, because it comes from outside.
	Fixed bool `json:"fixed,omitempty"`
}

// IntersectWith returns the rights that r and limit have in common; the result exceeds
// neither.
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
		Lend: common(r.Lend, limit.Lend), Reach: r.reachWithin(limit), Hosts: common(r.Hosts, limit.Hosts), Fixed: r.Fixed || limit.Fixed,
	}
}

// reachWithin returns the hosts that both reach; whoever has the network reaches all.
func (r *Rights) reachWithin(limit *Rights) []string {
	switch {
	case r.Network:
		return limit.Reach
	case limit.Network:
		return r.Reach
	}
	return common(r.Reach, limit.Reach)
}

// AllowsTool reports whether the tool may be called. The tools for jobs come with the one
// that starts them.
func (r *Rights) AllowsTool(tool string) bool {
	if tool == JobOutputTool || tool == JobEndTool {
		tool = "bash"
	}
	return r == nil || slices.Contains(r.Tools, tool)
}

// common returns the elements that both lists have, in the order of the first, without
// duplicates.
func common(a, b []string) []string {
	var out []string
	for _, s := range a {
		if slices.Contains(b, s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// stricter returns the stronger of two confinements of processes. An unknown value
// counts as the strongest.
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

// Taint says that text from outside had been read before something was written. The
// zero value says that none had.
type Taint struct {
	From string `json:"from"` // the source, as in "fetch example.org"
	// Seq is the seq of the entry that brought the text into the conversation; 0 if it
	// was this entry itself. Once that entry is outside an agent's window, the taint is
	// gone.
	Seq int64 `json:"seq,omitempty"`
}

// Tainted reports whether text from outside had been read.
func (t Taint) Tainted() bool { return t.From != "" }
