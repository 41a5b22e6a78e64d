package migrate

import (
	"math"
	"strings"
)

const noKeys = "keys are not kept in settings; store it with fika key set, or put it into an environment variable, and name that in api_key_env"

// niffler converts its config.json and config.toml. Keys are read in both
// spellings, snake_case and camelCase.
func niffler(d *draft, o object) {
	models := o.list("models")
	d.comment("What you are called in prompts and transcripts.")
	o.move("username", "your_name")
	if name := defaultModel(models); name != "" {
		d.comment("The model of everybody who names none.")
		d.put("model", name, "models[0]")
	}
	o.reasoning("default_reasoning_level")
	o.move("turn_timeout_seconds", "agent_timeout_seconds")
	if n, ok := o.table("nats"); ok {
		nifflerNATS(d, n)
	}
	if m, ok := o.table("master", "masters", "master_mode"); ok {
		d.header("[master]", "The console.")
		for _, key := range []string{"enabled", "default_agent", "auto_start_agents", "heartbeat_check_interval"} {
			m.move(key)
		}
		m.rest(nil)
	}
	for _, a := range o.list("agents") {
		d.header("[[agents]]", "An agent: a worker with its own model and permissions.")
		for _, key := range []string{"id", "name", "description", "model", "capabilities", "tool_permissions", "auto_start", "persistent", "max_idle_seconds", "system_prompt"} {
			a.move(key)
		}
		a.rest(nil)
	}
	nifflerModels(d, models)
	o.rest(map[string]string{
		"config":                "prompts are files in prompts/ and contexts/NAME/",
		"instructionFiles":      "AGENTS.md of a trusted workspace is read; see agents_md and trust",
		"thinkingTokensEnabled": "reasoning is set per model",
		"mcpServers":            "no such servers yet; a plugin can do it",
		"mcp_servers":           "no such servers yet; a plugin can do it",
		"database":              "conversations are not taken over; fika makes its own database",
	})
}

// defaultModel names the first model that is not switched off.
func defaultModel(models []object) string {
	for _, m := range models {
		if m.fields["enabled"] == false {
			continue
		}
		for _, key := range []string{"nickname", "model", "id"} {
			if s, ok := m.fields[key].(string); ok && s != "" {
				return s
			}
		}
	}
	return ""
}

func nifflerNATS(d *draft, n object) {
	d.header("[nats]", "The bus.")
	n.move("server", "url")
	n.move("timeout_ms", "timeout")
	n.move("reconnect_delay_ms")
	n.move("user", "username")
	n.move("password")
	n.move("token")
	d.comment("subject_prefix = \"niffler\" shares the bus with programs that use those subjects.")
	n.rest(map[string]string{"reconnect_attempts": "a lost connection is tried again until the server is back"})
}

func nifflerModels(d *draft, models []object) {
	ids := map[string]bool{}
	for _, m := range models {
		if on, from, ok := m.take("enabled"); ok && on == false {
			d.lose(strings.TrimSuffix(from, ".enabled"), "it was switched off")
			continue
		}
		d.header("[[models]]", "A model that agents may name by id or nickname.")
		wire, nickname := m.text("model", "id"), m.text("nickname")
		id := wire
		if id == "" || ids[id] && nickname != "" {
			id = nickname
		}
		ids[id] = true
		d.put("id", id, m.path+"model")
		if nickname != "" && nickname != id {
			d.put("nickname", nickname, m.path+"nickname")
		}
		if wire != "" && wire != id {
			d.put("model", wire, m.path+"model")
		}
		wireOf(d, m)
		m.move("base_url")
		m.move("api_key_env", "api_env_var")
		m.move("context_window", "context")
		m.move("max_tokens")
		if m.fields["reasoning"] != nil {
			m.reasoning("reasoning")
		} else {
			m.reasoning("max_thinking_tokens")
		}
		prices(d, m)
		m.rest(map[string]string{"api_key": noKeys, "apiKey": noKeys})
	}
}

// wireOf writes which protocol a model speaks.
func wireOf(d *draft, m object) {
	v, from, ok := m.take("provider", "type")
	if !ok {
		return
	}
	name, _ := v.(string)
	switch name = strings.ToLower(name); name {
	case "anthropic", "openai":
		d.put("provider", name, from)
	case "openai-compatible", "openai_compatible", "openrouter", "ollama":
		d.put("provider", "openai", from)
	default:
		d.lose(from, "fika speaks openai and anthropic; it goes by the address then")
	}
}

// prices writes what tokens cost, from the price of a million or of one.
func prices(d *draft, m object) {
	var parts []string
	for _, p := range []struct{ key, from string }{{"input", "input_cost_per"}, {"output", "output_cost_per"}} {
		per := float64(1)
		v, from, ok := m.take(p.from+"_m_token", camel(p.from+"_m_token"), p.from+"_million_tokens")
		if one, name, had := m.take(p.from + "_token"); had && !ok {
			v, from, ok, per = one, name, true, 1e6
		}
		if !ok {
			continue
		}
		var dollars float64
		switch n := v.(type) {
		case float64:
			dollars = n * per
		case int64:
			dollars = float64(n) * per
		default:
			d.lose(from, "not a number")
			continue
		}
		text, _ := literal(math.Round(dollars*1e6) / 1e6)
		parts = append(parts, p.key+" = "+text)
		if per == 1 {
			d.doubt(from, "taken as US dollars per million tokens")
		} else {
			d.doubt(from, "taken as US dollars per token: "+text+" per million")
		}
	}
	if len(parts) > 0 {
		d.text.WriteString("prices = {" + strings.Join(parts, ", ") + "}\n")
	}
}
