package migrate

import (
	"math"
	"strings"
)

const noKeys = "keys are not kept in settings; store it with fika key set, or put it into an environment variable, and name that in api_key_env"

// convertNiffler converts niffler's config.json and config.toml. Keys are read in both
// spellings, snake_case and camelCase.
func convertNiffler(d *draft, o object) {
	models := o.listOf("models")
	d.addComment("What you are called in prompts and transcripts.")
	o.moveKey("username", "your_name")
	if name := defaultModel(models); name != "" {
		d.addComment("The model of everybody who names none.")
		d.putKey("model", name, "models[0]")
	}
	o.moveReasoning("default_reasoning_level")
	o.moveKey("turn_timeout_seconds", "agent_timeout_seconds")
	if n, ok := o.tableOf("nats"); ok {
		nifflerNATS(d, n)
	}
	if m, ok := o.tableOf("master", "masters", "master_mode"); ok {
		d.addHeader("[master]", "The console.")
		for _, key := range []string{"enabled", "default_agent", "auto_start_agents", "heartbeat_check_interval"} {
			m.moveKey(key)
		}
		m.reportRest(nil)
	}
	for _, a := range o.listOf("agents") {
		d.addHeader("[[agents]]", "An agent: a worker with its own model and permissions.")
		for _, key := range []string{"id", "name", "description", "model", "capabilities", "tool_permissions", "auto_start", "persistent", "max_idle_seconds", "system_prompt"} {
			a.moveKey(key)
		}
		a.reportRest(nil)
	}
	nifflerModels(d, models)
	o.reportRest(map[string]string{
		"config":                "prompts are files in prompts/ and contexts/NAME/",
		"instructionFiles":      "AGENTS.md of a trusted workspace is read; see agents_md and trust",
		"thinkingTokensEnabled": "reasoning is set per model",
		"mcpServers":            "not copied; fika mcp import FILE takes servers over from a JSON file with mcpServers",
		"mcp_servers":           "not copied; fika mcp import FILE takes servers over from a JSON file with mcpServers",
		"database":              "conversations are not taken over; fika makes its own database",
	})
}

// defaultModel returns the name of the first enabled model.
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
	d.addHeader("[nats]", "The bus.")
	n.moveKey("server", "url")
	n.moveKey("timeout_ms", "timeout")
	n.moveKey("reconnect_attempts")
	n.moveKey("reconnect_delay_ms")
	n.moveKey("user", "username")
	n.moveKey("password")
	n.moveKey("token")
	d.addComment("subject_prefix = \"niffler\" shares the bus with programs that use those subjects.")
	n.reportRest(nil)
}

func nifflerModels(d *draft, models []object) {
	ids := map[string]bool{}
	for _, m := range models {
		if on, from, ok := m.takeFirst("enabled"); ok && on == false {
			d.reportLost(strings.TrimSuffix(from, ".enabled"), "it was switched off")
			continue
		}
		d.addHeader("[[models]]", "A model that agents may name by id or nickname.")
		wire, nickname := m.takeText("model", "id"), m.takeText("nickname")
		id := wire
		if id == "" || ids[id] && nickname != "" {
			id = nickname
		}
		ids[id] = true
		d.putKey("id", id, m.path+"model")
		if nickname != "" && nickname != id {
			d.putKey("nickname", nickname, m.path+"nickname")
		}
		if wire != "" && wire != id {
			d.putKey("model", wire, m.path+"model")
		}
		wireOf(d, m)
		m.moveKey("base_url")
		m.moveKey("api_key_env", "api_env_var")
		m.moveKey("context_window", "context")
		m.moveKey("max_tokens")
		if m.fields["reasoning"] != nil {
			m.moveReasoning("reasoning")
		} else {
			m.moveReasoning("max_thinking_tokens")
		}
		movePrices(d, m)
		m.reportRest(map[string]string{"api_key": noKeys, "apiKey": noKeys})
	}
}

// wireOf writes which protocol a model speaks.
func wireOf(d *draft, m object) {
	v, from, ok := m.takeFirst("provider", "type")
	if !ok {
		return
	}
	name, _ := v.(string)
	switch name = strings.ToLower(name); name {
	case "anthropic", "openai":
		d.putKey("provider", name, from)
	case "openai-compatible", "openai_compatible", "openrouter", "ollama":
		d.putKey("provider", "openai", from)
	default:
		d.reportLost(from, "fika speaks openai and anthropic; it goes by the address then")
	}
}

// movePrices writes the prices of tokens, from the price of a million or of one.
func movePrices(d *draft, m object) {
	var parts []string
	for _, p := range []struct{ key, from string }{{"input", "input_cost_per"}, {"output", "output_cost_per"}} {
		per := float64(1)
		v, from, ok := m.takeFirst(p.from+"_m_token", camelCase(p.from+"_m_token"), p.from+"_million_tokens")
		if one, name, had := m.takeFirst(p.from + "_token"); had && !ok {
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
			d.reportLost(from, "not a number")
			continue
		}
		text, _ := tomlLiteral(math.Round(dollars*1e6) / 1e6)
		parts = append(parts, p.key+" = "+text)
		if per == 1 {
			d.reportDoubt(from, "taken as US dollars per million tokens")
		} else {
			d.reportDoubt(from, "taken as US dollars per token: "+text+" per million")
		}
	}
	if len(parts) > 0 {
		d.text.WriteString("prices = {" + strings.Join(parts, ", ") + "}\n")
	}
}
