package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fika/internal/settings/config"
)

// configPage returns the reference of config.toml, models.toml and local.toml.
func configPage() string {
	var b strings.Builder
	b.WriteString("# Settings\n\n" + notice)
	b.WriteString("Settings are TOML files in the home folder (`$FIKA_HOME`, else the project's, else `~/.fika`):\n\n" +
		"- `config.toml`: everything on this page\n" +
		"- `models.toml`: more `[[models]]`, if you prefer a separate file\n" +
		"- `agents/NAME.md`: an agent, as Markdown; see [projects](../guides/projects.md), also for what a project's `.fika` may set\n" +
		"- `contexts/NAME/local.toml`: the per-context keys, for one context only\n\n" +
		"For a per-context key, the first of these that sets the key wins: flag, environment variable, `local.toml`, the agent's `[[agents]]` entry, the\n" +
		"top level of `config.toml`, the default. Agents that the hub starts take no settings from the environment. `fika config check` reports every\n" +
		"problem in the files with file, line and column; a key that does not exist is a problem.\n\n" +
		"For the limits of chains and agents, too, the most specific value applies, whether it is tighter or wider: what `fika chat limit` has set for\n" +
		"one conversation, then the agent's own (`local.toml`, then `[[agents]]`), then `[chat]`. A chain that reaches a limit stops with one notice;\n" +
		"`fika chat continue` resumes it with fresh counters. An agent that has reached its limit for an hour (from one full hour to the next, UTC) loses nothing:\n" +
		"its waiting work continues in the next hour, with one notice an hour in each conversation; a prompt from the shell is refused (exit 8).\n\n" +
		"A duration is a text such as `\"90s\"`, `\"10m\"` or `\"7d\"`; a bare number is seconds. Keys whose names ended in `_seconds` or `_ms` (`max_idle_seconds`, `timeout_ms`) are read by these names, too.\n" +
		"Money is in US dollars, prices in dollars per million tokens. Paths may begin with `~/`; relative paths start at the home.\n")
	b.WriteString("\n## An example\n\nEvery line is a comment; remove the `# ` where you want something other than the default.\n\n```toml\n")
	b.WriteString(strings.TrimRight(config.ExampleFile(), "\n"))
	b.WriteString("\n```\n")
	tables := firstTables()
	rows := map[string][]config.KeyDoc{}
	shared := map[string][]string{} // by table: what an agent may have otherwise
	var seldom []config.KeyDoc
	for _, d := range config.KeyReference() {
		t := tableOf(d)
		if from, isShared := sharedWith(d); isShared {
			shared[from] = append(shared[from], "`"+lastKey(d.Key)+"`")
			continue
		}
		if slices.Contains(seldomChanged(), d.Key) {
			seldom = append(seldom, d)
			continue
		}
		if !slices.Contains(tables, t) {
			tables = append(tables, t)
		}
		rows[t] = append(rows[t], d)
	}
	for _, t := range tables {
		fmt.Fprintf(&b, "\n## %s\n", t)
		if t == agentsTable {
			b.WriteString("\nBesides its own keys and those of every context (below), an entry, and the agent's `local.toml`, may have for this agent alone:\n\n")
			for _, from := range slices.Sorted(maps.Keys(shared)) {
				fmt.Fprintf(&b, "- from `[%s]`: %s\n", from, strings.Join(shared[from], ", "))
			}
		}
		writeKeys(&b, rows[t], lastKey)
	}
	b.WriteString("\n## Seldom changed\n\nThe defaults of these are right for nearly everybody.\n")
	writeKeys(&b, seldom, func(key string) string { return key })
	return b.String()
}

func writeKeys(b *strings.Builder, docs []config.KeyDoc, name func(key string) string) {
	b.WriteString("\n| key | type | default | meaning |\n|---|---|---|---|\n")
	for _, d := range docs {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", name(d.Key), cell(d.Type), code(d.Default), cell(meaning(d)))
	}
}

const (
	agentsTable  = "`[[agents]]`"
	contextTable = "Per context: top level, `[[agents]]`, `local.toml`"
)

// firstTables returns the headings that a newcomer needs first.
func firstTables() []string {
	return []string{"`[[models]]`", "`[models.prices]`", agentsTable, contextTable, "`[reasoning]`", "`[[rules]]`", "`[chat]`", "`[[budgets]]`", "`[guard]`", "`[sandbox]`"}
}

// sharedWith returns the table of which a key of [[agents]] is a copy.
func sharedWith(d config.KeyDoc) (table string, is bool) {
	rest, is := strings.CutPrefix(d.Meaning, "The key of `[")
	table, _, _ = strings.Cut(rest, "]")
	return table, is && strings.HasPrefix(d.Key, "agents.")
}

// seldomChanged returns the keys that the page lists last.
func seldomChanged() []string {
	return []string{
		"provider", "base_url", "api_key_env", "tools_off", "warn_threshold_percent", "rolling_compact_drop_percentage", "reflection_character_limit", "patience", "patience_background",
		"lock_heartbeat", "trust", "update_url", "nats.timeout", "nats.reconnect_attempts", "nats.reconnect_delay", "nats.password", "nats.token",
		"master.enabled", "master.auto_start_agents", "master.heartbeat_check_interval", "answer.max_tool_calls", "answer.max_bytes", "answer.max_silent", "answer.max_time",
		"tools.max_output_bytes", "tools.max_fetch_bytes", "tools.search_above", "tools.server_idle", "tools.guest_idle", "plugins.NAME.stdin", "mcp.trust", "agents.name",
		"models.insecure", "models.cache_control", "models.cache_for", "models.reserve", "models.reserve.input", "models.reserve.output",
		"models.reasoning", "models.reasoning.enabled", "models.reasoning.effort", "models.reasoning.max_tokens",
	}
}

// tableOf returns the heading that a key is listed under.
func tableOf(d config.KeyDoc) string {
	i := strings.LastIndex(d.Key, ".")
	switch {
	case i < 0 && d.Context:
		return contextTable
	case i < 0:
		return "Top level"
	}
	switch t := d.Key[:i]; t {
	case "agents", "models", "mcp", "rules", "agents.model_rules", "budgets", "executors", "bus_members", "webhooks", "schedules":
		return "`[[" + t + "]]`"
	default:
		return "`[" + t + "]`"
	}
}

func lastKey(key string) string { return key[strings.LastIndex(key, ".")+1:] }

func meaning(d config.KeyDoc) string {
	s := d.Meaning
	if len(d.OneOf) > 0 {
		s += " One of: " + strings.Join(d.OneOf, ", ") + "."
	}
	if d.Env != "" {
		s += " Environment: `" + d.Env + "`."
	}
	if d.Example != "" {
		s += " Example: `" + d.Example + "`."
	}
	return s
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + cell(s) + "`"
}

// cell escapes a text for a table cell.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(s)
}
