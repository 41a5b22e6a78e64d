package config

import (
	"path/filepath"
	"slices"
	"strings"

	"fika/internal/rights/guard"
	"fika/internal/settings/toml"
)

// A project's files come from anybody who can push to a repository. They add agents and
// tighten rules; whatever decides who gets keys and prompts, what leaves the sandbox,
// or what is read outside of the project, is for the person to set. So are keys that
// are not mentioned here.

// projectReader checks the tree of a project's file before it is applied.
type projectReader struct {
	*toml.Source
	file fileText
}

// addProject adds a file of the project's layer.
func (l *loading) addProject(s *toml.Source, f fileText) {
	p := projectReader{s, f}
	p.checkTop()
	c := l.config
	p.dropKnownModels(c)
	before, hidden, where := c.Guard, c.Sandbox.Hide, c.guardPlaces()
	first, budgets := len(c.Agents), len(c.Budgets)
	c.readSource(s, false)
	c.layBudgets(budgets, true)
	c.keepTighter(before, where)
	if len(hidden) > 0 && !slices.Equal(hidden, c.Sandbox.Hide) {
		c.Sandbox.Hide = slices.Concat(hidden, c.Sandbox.Hide)
	}
	for i := first; i < len(c.Agents); i++ {
		c.tightenAgent(i)
	}
}

// refuseWith reports a key that a project cannot set, and why.
func (p projectReader) refuseWith(e *entry, key, why string) {
	if why != "" {
		why = ": " + why
	}
	p.Problem(e.At, "a project cannot set %s%s; set it in %s", key, why, p.file.Own)
}

const yours = ""

// refusalReasons returns why keys are the person's to set, for keys with a specific
// reason.
func refusalReasons() map[string]string {
	const route = "it decides where prompts and keys are sent"
	return map[string]string{
		"base_url": route, "provider": route, "api_key_env": route, "insecure": route, "headers": route,
		"env":      "variables decide what programs run and where they look for keys",
		"store":    "it decides where the data are",
		"nats":     "it decides which bus is used",
		"username": "it is your name",
		"trust":    "nobody can agree in your name",
		"lend":     "it would hand keys and files of yours to commands", "sockets": "whoever listens there acts with rights of its own",
		"write":  "it would let commands write outside of the project",
		"hosts":  "it decides which hosts commands reach, and which are started",
		"access": "it would let a program use all of fika", "executor": "it decides under whose account tools run",
		"engine": "it decides which programs are started", "command": "it decides which programs are started",
		"billing":             "it decides whether limits of money hold",
		"allow_private_fetch": "it would open your own network to what agents read",
		"mcp":                 "it decides which programs are started and reached",
		"schedules":           "it decides what starts automatically",
		"routing":             route,
		"webhooks":            "it decides who is sent what happens",
		"otlp":                "it decides who is sent what agents do",
		"doors":               "it decides which programs may connect",
		"bus_members":         "it decides which programs may ask your agents",
	}
}

func (p projectReader) refuseKey(e *entry, prefix string) {
	why := refusalReasons()[e.Name]
	if why == "" {
		why = yours
	}
	p.refuseWith(e, prefix+e.Name, why)
}

// allowOnly removes the keys of a table that are not allowed: those that fika knows are
// refused, others are left to be reported as unknown.
func (p projectReader) allowOnly(t *table, prefix string, allowed, known []string) {
	t.Entries = slices.DeleteFunc(t.Entries, func(e entry) bool {
		if slices.Contains(allowed, e.Name) || !slices.Contains(known, e.Name) {
			return false
		}
		p.refuseKey(&e, prefix)
		return true
	})
}

// projectContextKeys returns the per-context keys that a project may set.
func projectContextKeys() []string {
	keys := []string{
		"model", "reasoning", "max_tokens", "system_prompt", "tool_permissions", "tools_off", "skills", "workspace", "readable_by", "callable_by",
		"agents_md", "auto_compact", "auto_compact_threshold", "warn_threshold_percent", "rolling_compact_drop_percentage", "context_window_limit",
		"max_recursion_depth", "reflection_enabled", "reflection_character_limit", "rules", "turn_timeout", "patience", "patience_background", "sandbox", "network", "rights", "tainted",
	}
	return append(keys, keyNames(limitKeys(func(c *PerContext) *Limits { return &c.Limits }, "chat"))...)
}

func (p projectReader) checkTop() {
	context := projectContextKeys()
	tables := []string{"chat", "tools", "guard", "sandbox", "plugins", "agents", "models", "master", "budgets", "landing"}
	p.allowOnly(p.Root, "", append(tables, context...), append(keyNames(topKeys()), keyNames(contextKeys())...))
	p.checkContext(p.Root, "")
	for i := range p.Root.Entries {
		e := &p.Root.Entries[i]
		switch e.Name {
		case "guard":
			p.allowOnlyIn(e, []string{"sandbox", "network", "default", "rights", "tainted"}, keyNames(guardKeys()))
			p.checkConfinement(e.Value, "guard.")
		case "sandbox":
			if e.Value.Kind == toml.KindTable {
				p.allowOnlyIn(e, []string{"hide"}, keyNames(sandboxKeys()))
				eachKey(e.Value, func(e *entry) { p.checkHidden(e) })
			}
		case "tools":
			p.allowOnlyIn(e, []string{"timeout", "max_output_bytes", "max_fetch_bytes", "search_above", "server_idle", "delegate_deadline"}, keyNames(toolKeys()))
		case "master":
			p.allowOnlyIn(e, []string{"default_agent", "auto_start_agents", "heartbeat_check_interval"}, keyNames(masterKeys()))
		case "plugins":
			eachKey(e.Value, func(e *entry) {
				p.allowOnlyIn(e, []string{"timeout", "stdin", "disabled"}, keyNames(pluginKeys()))
			})
		case "models":
			eachModel(e.Value, func(_ string, t *table) { p.checkModel(t) })
		case "agents":
			p.checkAgents(e.Value)
		}
	}
}

func (p projectReader) allowOnlyIn(e *entry, allowed, known []string) {
	if e.Value.Kind == toml.KindTable {
		p.allowOnly(e.Value.Table, e.Name+".", allowed, known)
	}
}

func (p projectReader) checkModel(t *table) {
	p.allowOnly(t, "models.", []string{"id", "nickname", "provider", "model", "context_window", "max_tokens", "prices", "reserve", "reasoning", "images", "rules"}, keyNames(modelKeys()))
	if e := t.Get("rules"); e != nil {
		p.checkInside(e, "rules", p.file.Base, "the project's .fika")
	}
}

func (p projectReader) checkAgents(v value) {
	allowed := append(projectContextKeys(), slices.DeleteFunc(keyNames(agentKeys()), func(k string) bool {
		return slices.Contains([]string{"engine", "command", "billing", "prices", "workspace_on"}, k)
	})...)
	known := append(keyNames(contextKeys()), keyNames(agentKeys())...)
	for _, item := range v.Items {
		if item.Kind == toml.KindTable {
			p.allowOnly(item.Table, "", allowed, known)
			p.checkContext(item.Table, "")
			p.checkConfinement(item, "")
		}
	}
}

// checkContext checks the values of per-context keys.
func (p projectReader) checkContext(t *table, prefix string) {
	for i := range t.Entries {
		e := &t.Entries[i]
		switch e.Name {
		case "system_prompt":
			if e.Value.Kind == toml.KindText && isPath(e.Value.Text) {
				p.checkInside(e, prefix+e.Name, p.file.Base, "the project's .fika")
			}
		case "workspace":
			if textOf(e) == Worktree {
				continue
			}
			p.checkInside(e, prefix+e.Name, p.file.Root, "the project")
		case "rules":
			for _, item := range e.Value.Items {
				if item.Kind == toml.KindTable && textOf(item.Table.Get("do")) == "allow" {
					p.Problem(item.Table.Get("do").At, "rules of a project can ask or deny, not allow: set what is allowed in %s", p.file.Own)
				}
			}
		}
	}
}

// checkConfinement refuses settings that loosen how processes are confined.
func (p projectReader) checkConfinement(v value, prefix string) {
	eachKey(v, func(e *entry) {
		loose := map[string]string{"sandbox": "off", "network": "on", "default": "allow", "tainted": guard.TaintAllow}[e.Name]
		if loose != "" && textOf(e) == loose {
			p.refuseWith(e, prefix+e.Name+" = "+toml.Quote(loose), "a project tightens what holds, and does not loosen it")
		}
	})
}

func (p projectReader) checkHidden(e *entry) {
	for i := range e.Value.Items {
		if item := &e.Value.Items[i]; item.Kind == toml.KindText {
			item.Text = ExpandPath(p.file.Root, item.Text)
		}
	}
}

// checkInside makes a path of the project absolute, and refuses one that leads out of a
// folder.
func (p projectReader) checkInside(e *entry, key, dir, what string) {
	if e.Value.Kind != toml.KindText {
		return // the reader reports it
	}
	path := e.Value.Text
	if !filepath.IsAbs(path) && !strings.HasPrefix(path, "~") {
		path = filepath.Join(dir, path)
	}
	rel, err := filepath.Rel(realPath(dir), realPath(path))
	if strings.HasPrefix(path, "~") || err != nil || !filepath.IsLocal(rel) {
		p.Problem(e.Value.At, "%s: a project cannot reach outside: %s is not in %s (%s)", key, toml.Quote(e.Value.Text), what, dir)
		return
	}
	e.Value.Text = path
}

// realPath resolves the links in the existing part of a path.
func realPath(path string) string {
	path = filepath.Clean(path)
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	if up := filepath.Dir(path); up != path {
		return filepath.Join(realPath(up), filepath.Base(path))
	}
	return path
}

// dropKnownModels drops the models that the person has defined: the person's
// definitions apply.
func (p projectReader) dropKnownModels(c *Config) {
	e := p.Root.Get("models")
	if e == nil {
		return
	}
	known := c.modelNames()
	has := func(t *table, id string) bool {
		return slices.Contains(known, id) || slices.Contains(known, textOf(t.Get("nickname")))
	}
	e.Value.Items = slices.DeleteFunc(e.Value.Items, func(v value) bool {
		return v.Kind == toml.KindTable && has(v.Table, textOf(v.Table.Get("id")))
	})
	if e.Value.Kind == toml.KindTable {
		e.Value.Table.Entries = slices.DeleteFunc(e.Value.Table.Entries, func(e entry) bool {
			return e.Value.Kind == toml.KindTable && has(e.Value.Table, e.Name)
		})
	}
}

// strictKey is a key of [guard] that agents may also have, with its values from loose
// to strict.
type strictKey struct {
	name   string
	at     func(*Confinement) *string
	values []string
}

func strictKeys() []strictKey {
	return []strictKey{
		{"sandbox", func(c *Confinement) *string { return &c.SandboxMode }, []string{"off", "best", "required"}},
		{"network", func(c *Confinement) *string { return &c.Network }, []string{"on", "off"}},
		{"rights", func(c *Confinement) *string { return &c.Rights }, []string{guard.RightsOwn, guard.RightsLeast}},
		{"tainted", func(c *Confinement) *string { return &c.Taint }, []string{guard.TaintAllow, guard.TaintTighten, guard.TaintOffline}},
	}
}

// isLooser reports whether one value is less strict than another.
func (k strictKey) isLooser(value, than string) bool {
	return slices.Index(k.values, value) < slices.Index(k.values, than)
}

// guardPlaces returns the places of the guard's keys before a project's file is
// applied.
func (c *Config) guardPlaces() map[string]Place {
	where := map[string]Place{"default": c.where["guard.default"]}
	for _, k := range strictKeys() {
		where[k.name] = c.where["guard."+k.name]
	}
	return where
}

// keepTighter restores the person's values where the project's are less strict.
func (c *Config) keepTighter(before Guard, where map[string]Place) {
	restore := func(name string) {
		if at := where[name]; at.File != "" {
			c.where["guard."+name] = at
		} else {
			delete(c.where, "guard."+name)
		}
	}
	for _, k := range strictKeys() {
		if now, was := k.at(&c.Guard.Confinement), *k.at(&before.Confinement); k.isLooser(*now, was) {
			*now = was
			restore(k.name)
		}
	}
	if slices.Index(ruleActions(), c.Guard.Default) < slices.Index(ruleActions(), before.Default) {
		c.Guard.Default = before.Default
		restore("default")
	}
}

// tightenAgent makes an agent of the project inherit the general value if that is
// stricter than its own.
func (c *Config) tightenAgent(i int) {
	for _, k := range strictKeys() {
		if k.isLooser(*k.at(&c.Agents[i].Confinement), *k.at(&c.Guard.Confinement)) {
			delete(c.where, elementPath("agents", i)+"."+k.name)
		}
	}
}
