package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"fika/internal/settings/toml"
)

// crossCheck finds mistakes in settings that are each valid by themselves: unknown
// names, duplicate definitions, keys that exclude each other.
type crossCheck struct {
	*Config
	problems *Problems
}

// checkTogether checks what concerns more than one key. It runs only if all files could
// be parsed: what is missing because of a syntax error elsewhere is not worth
// reporting.
func (c *crossCheck) checkTogether() {
	c.checkModels()
	c.checkRoutes()
	c.checkAgents()
	c.checkNATS()
	c.checkMCP()
	c.checkExecutors()
	c.checkOnDemand()
	c.checkBudgets()
	c.checkSchedules()
	c.checkBusMembers()
	if c.Model != "" && !c.isReachable(c.Model) {
		c.problems.Add(c.where["model"], "%s", c.unknownModel(c.Model))
	}
	if m := c.Routing.Model; m != "" && !c.isReachable(m) {
		c.problems.Add(c.where["routing.model"], "%s", c.unknownModel(m))
	}
	if d := c.Master.DefaultAgent; d != "" && c.entryIndex(d) < 0 {
		c.problems.Add(c.where["master.default_agent"], "no [[agents]] entry has the id %s%s", toml.Quote(d), toml.NearestHint(d, c.agentIDs()))
	}
}

func (c *crossCheck) checkAgents() {
	seen := map[string]int{}
	for i := range c.Agents {
		a := &c.Agents[i]
		if first, twice := seen[a.ID]; twice && a.ID != "" {
			c.problems.Add(c.placeOf("agents", i, "id"), "the agent %s is defined twice; the first is at %s%s", toml.Quote(a.ID), c.placeOf("agents", first, "id"), memberOf(a))
		} else {
			seen[a.ID] = i
		}
		if a.Pool != "" {
			continue // its pool's entry is checked
		}
		if a.Model != "" && !c.isReachable(a.Model) && a.BaseURL == "" {
			c.problems.Add(c.placeOf("agents", i, "model"), "%s", c.unknownModel(a.Model))
		}
		c.checkGuest(i)
		c.checkModelChoice(i)
		c.checkPool(i)
		c.checkBackup(i)
		if len(a.RunOn) > 0 && c.Store.URL == "" {
			c.problems.Add(c.placeOf("agents", i, "run_on"), "run_on needs a database that hosts share ([store] url): that of this home is a file")
		}
		c.checkWorkspaceOn(i)
	}
	if c.entryIndex(strings.ToLower(c.Username)) >= 0 {
		c.problems.Add(c.where["username"], "%s is the id of an agent: people and agents cannot share a name", toml.Quote(c.Username))
	}
}

func (c *crossCheck) checkWorkspaceOn(i int) {
	a, at := &c.Agents[i], c.placeOf("agents", i, "workspace_on")
	if a.WorkspaceOn != "" && c.Store.URL == "" {
		c.problems.Add(at, "workspace_on needs a database that hosts share ([store] url): that of this home is a file")
	}
	switch {
	case !a.Moves():
	case a.Instances > 0:
		c.problems.Add(at, "the members of a pool stay on their hosts: leave workspace_on out, or instances")
	case a.WorkspaceOn == OnShared && (a.Workspace == "" || a.Workspace == Worktree):
		c.problems.Add(at, "workspace_on = \"shared\" needs workspace in the same entry: the folder that every host has")
	case a.WorkspaceOn == OnGit && a.Workspace != Worktree:
		c.problems.Add(at, "workspace_on = \"git\" needs workspace = \"worktree\" in the same entry: what is pushed is the agent's own worktree")
	}
}

func (c *crossCheck) checkModels() {
	seen := map[string]Place{} // ids and nicknames
	for i := range c.Models {
		m := &c.Models[i]
		c.checkModel(i, m)
		keys := []string{"id"}
		if m.Nickname != "" && m.Nickname != m.ID {
			keys = append(keys, "nickname")
		}
		for _, key := range keys {
			name := m.ID
			if key == "nickname" {
				name = m.Nickname
			}
			at := c.placeOf("models", i, key)
			if first, twice := seen[name]; twice && name != "" {
				c.problems.Add(at, "the model %s is defined twice; the first is at %s", toml.Quote(name), first)
				continue
			}
			seen[name] = at
		}
	}
}

func (c *crossCheck) checkModel(i int, m *Model) {
	provider := m.Provider
	if provider == "" && m.BaseURL != "" {
		provider = guessProvider(m.BaseURL)
	}
	switch {
	case m.ID == "": // already reported
	case provider == Scripted && m.Rules == "":
		c.problems.Add(c.placeOf("models", i, "provider"), "a scripted model needs rules = \"FILE\"")
	case provider != Scripted && m.Rules != "":
		c.problems.Add(c.placeOf("models", i, "rules"), "rules belong to a model with provider = \"scripted\"")
	case provider != Scripted && m.BaseURL == "" && c.BaseURL == "" && wellKnown(*m) == "":
		c.problems.Add(c.placeOf("models", i, "id"), "%s", noAddress(m.ID))
	case provider != Scripted && m.BaseURL != "":
		reached := *m
		reached.APIKeyEnv = cmp.Or(m.APIKeyEnv, usualKey(m.BaseURL))
		if wrong := keyInClear(reached); wrong != "" {
			c.problems.Add(c.placeOf("models", i, "base_url"), "%s", wrong)
		}
	}
}

// checkRoutes checks the addresses that are set outside of [[models]]: at the top level
// and by agents.
func (c *crossCheck) checkRoutes() {
	if wrong := keyInClear(Model{BaseURL: c.BaseURL, APIKeyEnv: c.APIKeyEnv}); wrong != "" {
		c.problems.Add(c.where["base_url"], "%s", wrong)
	}
	for i := range c.Agents {
		a := &c.Agents[i]
		if a.Pool != "" {
			continue
		}
		if wrong := keyInClear(Model{BaseURL: a.BaseURL, APIKeyEnv: a.APIKeyEnv}); wrong != "" {
			c.problems.Add(c.placeOf("agents", i, "base_url"), "%s", wrong)
		}
	}
}

func (c *crossCheck) checkNATS() {
	n := &c.NATS
	var ways []string
	for _, w := range []struct {
		key string
		set bool
	}{
		{"user", n.User != ""}, {"token", n.Token != ""}, {"token_env", n.TokenEnv != ""},
		{"nkey", n.NKey != ""}, {"creds", n.Creds != ""},
	} {
		if w.set {
			ways = append(ways, w.key)
		}
	}
	if len(ways) > 1 {
		c.problems.Add(c.where["nats."+ways[1]], "set only one of user, token, nkey and creds: %s are set", strings.Join(ways, " and "))
	}
	if n.Password != "" && n.PasswordEnv != "" {
		c.problems.Add(c.where["nats.password_env"], "password and password_env are both set; keep one")
	}
	if (n.Password != "" || n.PasswordEnv != "") && n.User == "" {
		c.problems.Add(c.where["nats"], "a password is set but no user")
	}
	if (n.TLS.Cert == "") != (n.TLS.Key == "") {
		c.problems.Add(c.where["nats.tls"], "cert and key belong together; one of them is missing")
	}
}

// entryIndex returns the index of an agent's entry, or -1.
func (c *Config) entryIndex(id string) int {
	for i := range c.Agents {
		if c.Agents[i].ID == id {
			return i
		}
	}
	return -1
}

func (c *Config) agentIDs() []string {
	var list []string
	for i := range c.Agents {
		list = append(list, c.Agents[i].ID)
	}
	return list
}

// elementPath returns the path of one table of a [[list]].
func elementPath(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// placeOf returns where a key of a list element was set, or the place of the element if
// the key is not set.
func (c *Config) placeOf(list string, i int, key string) Place {
	name := elementPath(list, i)
	if p, ok := c.where[name+"."+key]; ok {
		return p
	}
	return c.where[name]
}

// unknownModel says that no model has a name, and lists the known ones.
func (c *Config) unknownModel(name string) string {
	known := c.modelNames()
	if len(known) == 0 {
		return "the model " + toml.Quote(name) + " is not known, and its name does not tell where it is reached: define it with [[models]] id and base_url"
	}
	if near := toml.NearestHint(name, known); near != "" || len(known) > 20 {
		return "model " + toml.Quote(name) + " not found" + near
	}
	return "model " + toml.Quote(name) + " not found; known are " + strings.Join(known, ", ")
}

func (c *Config) modelNames() []string {
	var list []string
	for i := range c.Models {
		for _, n := range []string{c.Models[i].ID, c.Models[i].Nickname} {
			if n != "" && !slices.Contains(list, n) {
				list = append(list, n)
			}
		}
	}
	return list
}
