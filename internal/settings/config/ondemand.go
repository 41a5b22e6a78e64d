package config

import (
	"strings"
	"time"

	"fika/internal/settings/toml"
)

// OnDemand is one [hosts.NAME] table: how another host is started when there is work for it,
// and stopped when there is none.
type OnDemand struct {
	Start       string        // a command
	Stop        string        // a command; empty: nobody stops the host
	IdleFor     time.Duration // without work, after which it is stopped
	StartWithin time.Duration // in which its hub has to be up
}

func defaultOnDemand() OnDemand {
	return OnDemand{IdleFor: 15 * time.Minute, StartWithin: 5 * time.Minute}
}

func onDemandKeys() []key[OnDemand] {
	return []key[OnDemand]{
		{name: "start", at: func(d *OnDemand) any { return &d.Start }, check: checkCommand, example: `"ssh box sudo systemctl start fika"`,
			doc: "The command that starts the host of this name, as fika store host list shows it, when there is work for its agents. One hub runs it, with /bin/sh in the home; FIKA_HOST is the name. What it leaves running in the background ends with it. Required."},
		{name: "stop", at: func(d *OnDemand) any { return &d.Stop }, check: checkCommand, example: `"ssh box sudo systemctl stop fika"`,
			doc: "The command that stops it. Unset: nothing stops it."},
		{name: "idle_for", at: func(d *OnDemand) any { return &d.IdleFor }, min: 10, max: 30 * 24 * 3600,
			doc: "How long the host has had no work when it is stopped."},
		{name: "start_within", at: func(d *OnDemand) any { return &d.StartWithin }, min: 1, max: 3600,
			doc: "How long it may take until its hub is up, from when the command begins; then the start has failed, and is tried again later. The command that stops it may take as long."},
	}
}

func checkCommand(v value, _ any) string {
	if strings.TrimSpace(v.Text) == "" {
		return "must be a command"
	}
	return ""
}

// readOnDemand reads [hosts.NAME].
func (r *reader) readOnDemand(v value, path string, all *map[string]OnDemand) bool {
	if !r.isTable(v, path) {
		return false
	}
	if *all == nil {
		*all = map[string]OnDemand{}
	}
	for i := range v.Table.Entries {
		e := &v.Table.Entries[i]
		d, below := (*all)[e.Name] // from a layer below
		if !below {
			d = defaultOnDemand()
		}
		if strings.ContainsFunc(e.Name, func(r rune) bool { return r <= ' ' }) || e.Name == "" {
			r.Problem(e.At, "%s is not the name of a host", toml.Quote(e.Name))
			continue
		}
		if !decodeSub(r, e.Value, path+"."+e.Name, &d, onDemandKeys()) {
			continue
		}
		r.where[path+"."+e.Name] = r.Place(e.At)
		(*all)[e.Name] = d
	}
	return true
}

// checkOnDemand looks for hosts that nothing starts, and for tables that no other host sees.
func (c *crossCheck) checkOnDemand() {
	for name, d := range c.OnDemand {
		switch at := c.where["hosts."+name]; {
		case d.Start == "":
			c.problems.Add(at, "[hosts.%s] has no start: give the command that starts it, as in start = \"ssh box sudo systemctl start fika\"", name)
		case c.Store.URL == "":
			c.problems.Add(at, "[hosts.%s] needs a database that hosts share: url in [store]", name)
		}
	}
}
