package migrate

import "strings"

const (
	openRouter    = "https://openrouter.ai/api/v1"
	openRouterKey = "OPENROUTER_API_KEY"
)

// convertChibi converts chibi's config.toml, of early and of later versions.
func convertChibi(d *draft, o object) {
	d.addComment("The model of every context that names none.")
	o.moveKey("model")
	base := o.takeText("base_url")
	if base == "" {
		base = openRouter
	}
	d.addComment("Where models are reached that have no address of their own, and the variable with the key.")
	d.putKey("base_url", strings.TrimSuffix(strings.TrimRight(base, "/"), "/chat/completions"), "base_url")
	if strings.HasPrefix(base, "https://openrouter.ai/") {
		d.putKey("api_key_env", openRouterKey, "")
	}
	d.addComment("What you are called in prompts and transcripts.")
	o.moveKey("username")
	for _, key := range []string{
		"lock_heartbeat_seconds", "context_window_limit", "warn_threshold_percent", "auto_compact", "auto_compact_threshold",
		"rolling_compact_drop_percentage", "reflection_enabled", "reflection_character_limit", "max_recursion_depth",
	} {
		o.moveKey(key)
	}
	if api, ok := o.tableOf("api"); ok {
		chibiAPI(api)
	}
	models, hasModels := o.tableOf("models")
	if key, from, ok := o.takeFirst("api_key"); ok && key != "" {
		d.reportLost(from, noKeys+" ("+openRouterKey+" for OpenRouter)")
	}
	const provider = "fika leaves it to the provider"
	o.reportRest(map[string]string{
		"fuel": "a turn is bounded by max_recursion_depth", "fuel_empty_response_cost": "a turn is bounded by max_recursion_depth",
		"temperature": provider, "tools": "tool_permissions and tools_off say what may run",
		"file_tools_allowed_paths": "file tools stay in the workspace; see workspace",
		"url_policy":               "see allow_private_fetch in [tools]",
	})
	if hasModels {
		chibiModels(d, models)
	}
}

// chibiModelsFile converts a models.toml, which contains only [models.NAME].
func chibiModelsFile(d *draft, o object) {
	if models, ok := o.tableOf("models"); ok {
		chibiModels(d, models)
	}
	o.reportRest(nil)
}

func chibiModels(d *draft, models object) {
	for _, id := range models.keys() {
		fields, ok := models.fields[id].(map[string]any)
		if !ok {
			d.reportLost(models.path+id, "not a table")
			continue
		}
		m := object{d, models.path + id + ".", fields}
		d.addHeader("[[models]]", "What is known of a model.")
		d.putKey("id", id, m.path+"id")
		m.moveKey("context_window", "context_length")
		if api, ok := m.tableOf("api"); ok {
			chibiAPI(api)
		}
		m.reportRest(nil)
	}
}

func chibiAPI(api object) {
	api.moveKey("max_tokens")
	api.moveReasoning("reasoning")
	const provider = "fika leaves it to the provider"
	reasons := map[string]string{}
	for _, key := range api.keys() {
		reasons[key] = provider
	}
	api.reportRest(reasons)
}
