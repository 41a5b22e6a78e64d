package config

import (
	"fmt"
	"slices"
	"strings"

	"fika"
	"fika/internal/settings/toml"
)

// BusMember is a program that is not fika, may ask agents, and has its own credential.
type BusMember struct {
	Name    string
	Tools   []string // that its requests may use at most; "*": all that the agent may
	Network string   // "on": processes of those tools reach it if the agent's do
	Agents  []string // that it may ask; nil: all
}

func defaultBusMember() BusMember { return BusMember{Tools: RequestTools(), Network: "off"} }

// RequestTools returns the tools that a request of anybody but the person may use by
// default.
func RequestTools() []string { return []string{"read", "list"} }

func busMemberKeys() []key[BusMember] {
	return []key[BusMember]{
		{name: "name", at: func(m *BusMember) any { return &m.Name }, check: checkMemberName, example: `"build-server"`,
			doc: "The program's name, shown wherever fika shows who asked: 1 to 32 of a-z 0-9 -. Required."},
		{name: "tools", at: func(m *BusMember) any { return &m.Tools }, example: `["read", "list", "bash"]`,
			doc: "The tools that the program's requests may make an agent use at most, within what the agent itself may use; * allows all of that."},
		{name: "network", at: func(m *BusMember) any { return &m.Network }, oneOf: []string{"off", "on"},
			doc: "With on, commands that the program's requests cause reach the network where the agent's own commands do."},
		{name: "agents", at: func(m *BusMember) any { return &m.Agents }, check: checkAddressees, example: `["coder"]`,
			doc: "The agents that the program may ask, and whose answers it sees. Unset: all. For teams, add workflow."},
	}
}

// checkMemberName allows names that can be a token of a subject and a part of a name.
func checkMemberName(v value, at any) string {
	name := at.(*string)
	if strings.Contains(*name, "_") {
		return "a member's name has no underscore: use a-z 0-9 and -"
	}
	return checkName(v, name)
}

// readBusMembers reads [[bus_members]].
func (r *reader) readBusMembers(v value, path string, list *[]BusMember) bool {
	return readTables(r, v, path, list, busMemberKeys(), func(value) BusMember { return defaultBusMember() }, func(item value, _ *BusMember) {
		r.needKey(item, "name", "this member has no name: give it one, as in name = \"build-server\"")
	})
}

func (c *crossCheck) checkBusMembers() {
	for i := range c.BusMembers {
		m := &c.BusMembers[i]
		at := c.placeOf("bus_members", i, "name")
		first := slices.IndexFunc(c.BusMembers, func(o BusMember) bool { return o.Name == m.Name })
		switch {
		case m.Name == "":
		case first < i:
			c.problems.Add(at, "the member %s is defined twice; the first is at %s", toml.Quote(m.Name), c.placeOf("bus_members", first, "name"))
		case c.entryIndex(m.Name) >= 0:
			c.problems.Add(at, "%s is the id of an agent: members of the bus and agents cannot share a name", toml.Quote(m.Name))
		case m.Name == "master":
			c.problems.Add(at, "%s is the name of the console: choose another for this member", toml.Quote(m.Name))
		case strings.EqualFold(c.Username, m.Name):
			c.problems.Add(at, "%s is your own username: members of the bus and people cannot share a name", toml.Quote(m.Name))
		}
	}
}

// BusMember returns a member by its name, or nil.
func (c *Config) BusMember(name string) *BusMember {
	i := slices.IndexFunc(c.BusMembers, func(m BusMember) bool { return strings.EqualFold(m.Name, name) })
	if i < 0 {
		return nil
	}
	return &c.BusMembers[i]
}

// MayAsk reports whether the member may ask an agent.
func (m *BusMember) MayAsk(name fika.AgentName) bool {
	return m.Agents == nil || slices.Contains(m.Agents, string(name))
}

// TOML returns a member as written in a file.
func (m BusMember) TOML() string {
	var b strings.Builder
	b.WriteString("[[bus_members]]\n")
	empty := defaultBusMember()
	for _, k := range busMemberKeys() {
		if text := encodeValue(k.at(&m)); text != encodeValue(k.at(&empty)) {
			fmt.Fprintf(&b, "%s = %s\n", k.name, text)
		}
	}
	return b.String()
}

// AddBusMember appends a member to a file of settings, which otherwise stays as it is.
// Error kinds: Invalid for a member that no file can hold, Storage.
func AddBusMember(path string, m BusMember) error {
	const op = "add bus member"
	if m.Tools == nil {
		m.Tools = RequestTools()
	}
	return rewrite(path, op, func(data []byte) ([]byte, error) {
		if _, err := Parse("the new entry", []byte(m.TOML())); err != nil {
			return nil, fika.Wrap(fika.Invalid, op, err)
		}
		return appendTable(data, m.TOML()), nil
	})
}

// RemoveBusMember removes a member from a file of settings. Error kinds: NotFound,
// Invalid if only a person can tell what belongs to it, Storage.
func RemoveBusMember(path, name string) error {
	return removeTable(path, "bus_members", name)
}
