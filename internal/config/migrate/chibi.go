package migrate

import "strings"

const (
	openRouter    = "https://openrouter.ai/api/v1"
	openRouterKey = "OPENROUTER_API_KEY"
)

// chibi converts its config.toml, of early and of later versions.
func chibi(d *draft, o object) {
	d.comment("The model of every context that names none.")
	o.move("model")
	base := o.text("base_url")
	if base == "" {
		base = openRouter
	}
	d.comment("Where models are reached that have no address of their own, and the variable with the key.")
	d.put("base_url", strings.TrimSuffix(strings.TrimRight(base, "/"), "/chat/completions"), "base_url")
	if strings.HasPrefix(base, "https://openrouter.ai/") {
		d.put("api_key_env", openRouterKey, "")
	}
	d.comment("What you are called in prompts and transcripts.")
	o.move("username")
	for _, key := range []string{
		"lock_heartbeat_seconds", "context_window_limit", "warn_threshold_percent", "auto_compact", "auto_compact_threshold",
		"rolling_compact_drop_percentage", "reflection_enabled", "reflection_character_limit", "max_recursion_depth",
	} {
		o.move(key)
	}
	if api, ok := o.table("api"); ok {
		chibiAPI(api)
	}
	models, hasModels := o.table("models")
	if key, from, ok := o.take("api_key"); ok && key != "" {
		d.lose(from, noKeys+" ("+openRouterKey+" for OpenRouter)")
	}
	const provider = "fika leaves it to the provider"
	o.rest(map[string]string{
		"fuel": "a turn is bounded by max_recursion_depth", "fuel_empty_response_cost": "a turn is bounded by max_recursion_depth",
		"temperature": provider, "tools": "tool_permissions and tools_off say what may run",
		"file_tools_allowed_paths": "file tools stay in the workspace; see workspace",
		"url_policy":               "see allow_private_fetch in [tools]",
	})
	if hasModels {
		chibiModels(d, models)
	}
}

// chibiModelsFile converts a models.toml: nothing but [models.NAME].
func chibiModelsFile(d *draft, o object) {
	if models, ok := o.table("models"); ok {
		chibiModels(d, models)
	}
	o.rest(nil)
}

func chibiModels(d *draft, models object) {
	for _, id := range models.keys() {
		fields, ok := models.fields[id].(map[string]any)
		if !ok {
			d.lose(models.path+id, "not a table")
			continue
		}
		m := object{d, models.path + id + ".", fields}
		d.header("[[models]]", "What is known of a model.")
		d.put("id", id, m.path+"id")
		m.move("context_window", "context_length")
		if api, ok := m.table("api"); ok {
			chibiAPI(api)
		}
		m.rest(nil)
	}
}

func chibiAPI(api object) {
	api.move("max_tokens")
	api.reasoning("reasoning")
	const provider = "fika leaves it to the provider"
	reasons := map[string]string{}
	for _, key := range api.keys() {
		reasons[key] = provider
	}
	api.rest(reasons)
}
