package main

import (
	"fmt"
	"strings"

	"fika/internal/api"
	"fika/internal/rights/authority"
)

// authorityPage returns the table of who may do what.
func authorityPage() string {
	var b strings.Builder
	b.WriteString("# Who may do what\n\n" + notice)
	b.WriteString(`Every command, and everything that another way into fika can ask for, is one of these verbs. Who asks is found out and never claimed: a command inside an
agent's tool is that agent, whatever it does to its environment.

- **yes**: allowed; for a list, what may not be seen is left out.
- **own**: only about the agent itself, or what it has done or been given.
- **seen**: only about what it may see. An agent may see the ongoing conversation of agents whose ` + "`readable_by`" + ` allows it, and the chats that it takes part in; a program
  sees what it has asked for itself.
- **-**: refused.

Whoever gives an agent work also needs that agent's leave (` + "`callable_by`" + `; of a program, the agents that it may reach). In the program columns a program of each
sort stands for all: a member of the bus (` + "`[[bus_members]]`" + `), one that may only look, and one that may manage everything. The system is the hub, with schedules and
runs: it has the rights of whoever set them up.

| verb | person | agent | bus member | program that looks | program that manages | system | nobody |
|---|---|---|---|---|---|---|---|
`)
	var columns [][]authority.Row
	for _, p := range authority.Walkers() {
		columns = append(columns, authority.Table(p))
	}
	for i, v := range api.Verbs() {
		fmt.Fprintf(&b, "| `%s` |", v.Name)
		for _, c := range columns {
			fmt.Fprintf(&b, " %s |", allowed(c[i]))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// allowed returns the word for a row.
func allowed(r authority.Row) string {
	switch authority.None {
	case r.Refusal[authority.Foreign]:
		return "yes"
	case r.Refusal[authority.Seen]:
		return "seen"
	case r.Refusal[authority.Own]:
		return "own"
	}
	return "-"
}
