package config

import (
	"slices"
	"strings"

	"fika/internal/settings/toml"
)

// checkBackup checks the backups of an agent.
func (c *crossCheck) checkBackup(i int) {
	a := &c.Agents[i]
	at := c.placeOf("agents", i, "backup")
	for k, name := range a.Backup {
		switch {
		case name == a.ID:
			c.problems.Add(at, "the agent %s cannot be its own backup", toml.Quote(name))
		case slices.Contains(a.Backup[:k], name):
			c.problems.Add(at, "backup names %s twice", toml.Quote(name))
		case c.entryIndex(name) >= 0 && c.Agents[c.entryIndex(name)].Pool == a.ID:
			c.problems.Add(at, "%s is a member of the pool %s: members take over from each other anyway", toml.Quote(name), toml.Quote(a.ID))
		case c.entryIndex(name) < 0:
			c.problems.Add(at, "no [[agents]] entry has the id %s%s", toml.Quote(name), toml.NearestHint(name, c.agentIDs()))
		}
	}
}

// BackupNotes returns what may be unexpected about the backups: agents whose backups
// only lead back to them, and backups that may do less than the agent they stand in
// for.
func (c *Config) BackupNotes() []string {
	var notes []string
	for i := range c.Agents {
		a := &c.Agents[i]
		if len(a.Backup) == 0 || a.Pool != "" {
			continue
		}
		where := c.placeOf("agents", i, "backup").String() + ": "
		if ring := c.backupRing(a.ID); len(ring) > 0 {
			notes = append(notes, where+"the backups of @"+a.ID+" lead back to it ("+strings.Join(ring, " -> ")+"): what is handed over once goes no further round, and waits when all of them are out")
		}
		for _, name := range a.Backup {
			if lacks := c.toolsMissing(a, c.entryIndex(name)); len(lacks) > 0 {
				notes = append(notes, where+"@"+name+" takes over from @"+a.ID+" and may not use "+strings.Join(lacks, ", ")+" (tool_permissions)")
			}
		}
	}
	return notes
}

// backupRing returns the shortest cycle over backups from an agent back to itself, or
// nil. It is reported only for the first of its agents.
func (c *Config) backupRing(id string) []string {
	seen := map[string]bool{}
	list := [][]string{{id}}
	for len(list) > 0 {
		way := list[0]
		list = list[1:]
		i := c.entryIndex(way[len(way)-1])
		if i < 0 {
			continue
		}
		for _, next := range c.Agents[i].Backup {
			switch {
			case next == id:
				ring := append(slices.Clone(way), id)
				if slices.Min(way) != id {
					return nil
				}
				return ring
			case !seen[next]:
				seen[next] = true
				list = append(list, append(slices.Clone(way), next))
			}
		}
	}
	return nil
}

// toolsMissing returns the tools that an agent names for itself and the other agent
// lacks.
func (c *Config) toolsMissing(a *Agent, other int) []string {
	if other < 0 {
		return nil
	}
	own, theirs := a.ToolPermissions, c.Agents[other].ToolPermissions
	if own == nil {
		own = c.ToolPermissions
	}
	if theirs == nil {
		theirs = c.ToolPermissions
	}
	if theirs == nil {
		theirs = []string{"read", "list"}
	}
	var lacks []string
	for _, tool := range own {
		if !slices.Contains(theirs, tool) {
			lacks = append(lacks, tool)
		}
	}
	return lacks
}
