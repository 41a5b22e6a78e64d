package config

import (
	"cmp"
	"strconv"
	"time"

	"fika/internal/rights/guard"
)

// Shown is one setting for display.
type Shown struct {
	Key    string
	Value  string // as TOML; secrets are replaced by "…"
	Origin string // as in Settings.Origins
}

// Show returns the per-context settings with the origin of each. The last rows show
// what the model's definition made of them.
func (s *Settings) Show() []Shown {
	prompt := cmp.Or(s.SystemPromptFile, s.SystemPrompt)
	m := s.Model
	p := PerContext{
		Model: m.ID, Username: s.Username, Provider: m.Provider, BaseURL: m.BaseURL, APIKeyEnv: m.APIKeyEnv,
		Reasoning: s.Reasoning, MaxTokens: s.MaxTokens, SystemPrompt: prompt,
		ToolPermissions: s.ToolPermissions, ToolsOff: s.ToolsOff, Skills: s.Skills, Workspace: s.Workspace,
		ReadableBy: s.ReadableBy, Env: s.Env, AgentsMD: s.AgentsMD,
		AutoCompact: s.AutoCompact, AutoCompactThreshold: s.AutoCompactThreshold,
		WarnThresholdPercent: s.WarnThresholdPercent, RollingCompactDrop: s.RollingCompactDrop,
		ContextWindowLimit: s.ContextWindow, MaxRecursionDepth: s.MaxRecursionDepth,
		ReflectionEnabled: s.ReflectionEnabled, ReflectionCharacterLimit: s.ReflectionCharacterLimit,
		TurnTimeout: s.TurnTimeout, Patience: s.Patience, PatienceBackground: s.PatienceBackground, Limits: s.Chat.Limits, Confinement: s.Guard.Confinement, Lend: s.Sandbox.Lend, Hosts: s.Sandbox.Hosts, Rules: s.Guard.Rules, Resources: s.Limits, Executor: s.Tools.Executor,
	}
	var list []Shown
	for _, k := range contextKeys() {
		row := Shown{Key: k.name, Value: encodeValue(k.at(&p)), Origin: s.Origins[k.name]}
		if list, ok := k.at(&p).(*[]string); ok && *list == nil {
			row.Value = "" // unset is not the same as none
		}
		if rules, ok := k.at(&p).(*[]guard.Rule); ok {
			row.Value, row.Origin = showRules(*rules)
		}
		if k.name == "env" {
			row.Value = hideValues(s.Env)
		}
		if row.Origin == "default" && row.Value != "" && m.ID != "" && fromModel(k.name) {
			row.Origin = "model " + m.ID
			if k.name == "base_url" && m.BaseURLFrom != "" {
				row.Origin = "environment " + m.BaseURLFrom
			}
		}
		row.Value = WithoutSecrets(row.Value)
		list = append(list, row)
		if k.name == "model" && s.Choice.Several() {
			list = append(list, s.Choice.show(row.Origin)...)
		}
	}
	return list
}

// show returns what an [[agents]] entry says about several models.
func (c ModelChoice) show(origin string) []Shown {
	var names []string
	for _, u := range c.Models {
		names = append(names, u.Model.ID)
	}
	list := []Shown{{"models", encodeValue(&names), origin}}
	if c.Escalate > 0 {
		list = append(list, Shown{"escalate", encodeValue(&c.Escalate), origin})
	}
	if n := len(c.Rules); n > 0 {
		list = append(list, Shown{"model_rules", strconv.Itoa(n) + " in all", origin})
	}
	return list
}

// showRules counts rules, which come from all layers at once.
func showRules(rules []guard.Rule) (value, origin string) {
	if len(rules) == 0 {
		return "", "default"
	}
	return strconv.Itoa(len(rules)) + " in all", rules[0].Where + " …"
}

// fromModel reports whether a model's definition sets the key if nothing else does.
func fromModel(key string) bool {
	switch key {
	case "provider", "base_url", "api_key_env", "reasoning", "max_tokens", "context_window_limit":
		return true
	}
	return false
}

// hideValues returns the names of variables without their values, which may be secrets.
func hideValues(env map[string]string) string {
	masked := make(map[string]string, len(env))
	for k := range env {
		masked[k] = "…"
	}
	return encodeValue(&masked)
}

// Show returns the settings of the whole home: those that no context has for itself.
// Agents, models and plugins are not included.
func (c *Config) Show() []Shown {
	list := []Shown{{"lock_heartbeat", encodeValue(&c.LockHeartbeat), c.originOf("lock_heartbeat")},
		{"trust", encodeValue(&c.Trust), c.originOf("trust")}}
	list = showTable(c, list, "nats.", &c.NATS, natsKeys())
	list = showTable(c, list, "nats.tls.", &c.NATS.TLS, tlsKeys())
	list = showTable(c, list, "master.", &c.Master, masterKeys())
	list = showTable(c, list, "hub.", &c.Hub, hubKeys())
	list = showTable(c, list, "web.", &c.Web, webKeys())
	list = showTable(c, list, "doors.", &c.Doors, doorKeys())
	list = showTable(c, list, "terminal.", &c.Terminal, terminalKeys())
	list = showTable(c, list, "routing.", &c.Routing, routingKeys())
	list = showTable(c, list, "store.", &c.Store, storeKeys())
	list = showTable(c, list, "keep.", &c.Keep, keepKeys())
	list = showTable(c, list, "chat.", &c.Chat, chatKeys())
	list = showTable(c, list, "board.", &c.Board, boardKeys())
	list = showTable(c, list, "landing.", &c.Landing, landingKeys())
	list = showTable(c, list, "answer.", &c.Answer, answerKeys())
	list = showTable(c, list, "tools.", &c.Tools, toolKeys())
	list = showTable(c, list, "guard.", &c.Guard, guardKeys())
	return showTable(c, list, "sandbox.", &c.Sandbox, sandboxKeys())
}

func showTable[T any](c *Config, list []Shown, prefix string, table *T, keys []key[T]) []Shown {
	for _, k := range keys {
		if k.doc == "" || k.name == "tls" {
			continue
		}
		row := Shown{prefix + k.name, encodeValue(k.at(table)), c.originOf(prefix + k.name)}
		switch {
		case row.Value == `""`:
			row.Value = ""
		case k.name == "password", k.name == "token":
			row.Value = `"…"`
		default:
			row.Value = WithoutSecrets(row.Value)
		}
		list = append(list, row)
	}
	return list
}

func (c *Config) originOf(key string) string {
	if p, ok := c.where[key]; ok {
		return lineOf(p)
	}
	return "default"
}

// PluginTimeout returns how long one call of a plugin may take: its own setting, else
// that of all tools.
func (s *Settings) PluginTimeout(name string) time.Duration {
	if t := s.Plugins[name].Timeout; t > 0 {
		return t
	}
	return s.Tools.Timeout
}
