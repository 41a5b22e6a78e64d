package config

import (
	"slices"
	"strings"

	"fika/internal/settings/toml"
)

// Executor is one [[executors]] entry: a process that runs tools for agents.
type Executor struct {
	Name string // lower case, checked
	User string // the user that tools run as; empty: the executor's own
	Host string // the name of the host where it runs; empty: this one
}

func executorKeys() []key[Executor] {
	return []key[Executor]{
		{name: "name", at: func(x *Executor) any { return &x.Name }, check: checkExecutor, example: `"box"`,
			doc: "The executor's name, as in fika executor box: 1 to 32 of a-z 0-9 _ -. Required."},
		{name: "user", at: func(x *Executor) any { return &x.User }, example: `"nobody"`,
			doc: "The user of this machine as whom tools run. Needs an executor, and so a hub, that runs as root. Unset: the user who runs the executor."},
		{name: "host", at: func(x *Executor) any { return &x.Host }, example: `"box"`,
			doc: "The host where it runs, by its name in fika store host list, if that may be another than the agent's: both hosts have this entry, the agent and its workspace. Unset: each host runs its own."},
	}
}

func executorKey[T any](at func(*T) *string) key[T] {
	return key[T]{name: "executor", at: func(t *T) any { return at(t) }, check: func(v value, at any) string {
		if v.Text == "" {
			return ""
		}
		return checkExecutor(v, at)
	}, example: `"box"`,
		doc: "The [[executors]] entry whose process runs the tools of agents that touch the machine (bash, read, list, edit, create) in their place. Unset: each agent runs them itself."}
}

func checkExecutor(v value, at any) string {
	return strings.Replace(checkName(v, at), "agent name", "name of an executor", 1)
}

// readExecutors reads [[executors]].
func (r *reader) readExecutors(v value, path string, list *[]Executor) bool {
	return readTables(r, v, path, list, executorKeys(), nil, func(item value, _ *Executor) {
		r.needKey(item, "name", "this executor has no name: give it one, as in name = \"box\"")
	})
}

// Executor returns the entry of a name, or nil.
func (c *Config) Executor(name string) *Executor {
	if i := slices.IndexFunc(c.Executors, func(x Executor) bool { return x.Name == name }); i >= 0 {
		return &c.Executors[i]
	}
	return nil
}

// UnknownExecutor says that there is no executor of a name, and lists the known ones.
func (c *Config) UnknownExecutor(name string) string {
	var known []string
	for _, x := range c.Executors {
		known = append(known, x.Name)
	}
	text := "executor " + toml.Quote(name) + " not found"
	switch near := toml.NearestHint(name, known); {
	case near != "":
		return text + near
	case len(known) == 0:
		return text + "; an [[executors]] entry of config.toml adds one"
	}
	return text + "; known are " + strings.Join(known, ", ")
}

func (c *crossCheck) checkExecutors() {
	for i, x := range c.Executors {
		if first := slices.IndexFunc(c.Executors, func(o Executor) bool { return o.Name == x.Name }); first < i && x.Name != "" {
			c.problems.Add(c.placeOf("executors", i, "name"), "the executor %s is defined twice; the first is at %s", toml.Quote(x.Name), c.placeOf("executors", first, "name"))
		}
	}
	if name := c.Tools.Executor; name != "" && c.Executor(name) == nil {
		c.problems.Add(c.where["tools.executor"], "%s", c.UnknownExecutor(name))
	}
	for i := range c.Agents {
		if name := c.Agents[i].Executor; c.Agents[i].Pool == "" && name != "" && c.Executor(name) == nil {
			c.problems.Add(c.placeOf("agents", i, "executor"), "%s", c.UnknownExecutor(name))
		}
	}
}
