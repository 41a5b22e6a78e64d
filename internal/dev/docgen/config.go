package main

import (
	"fmt"
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
	docs := config.KeyReference()
	var tables []string
	rows := map[string][]config.KeyDoc{}
	for _, d := range docs {
		t := tableOf(d)
		if rows[t] == nil {
			tables = append(tables, t)
		}
		rows[t] = append(rows[t], d)
	}
	for _, t := range tables {
		fmt.Fprintf(&b, "\n## %s\n\n| key | type | default | meaning |\n|---|---|---|---|\n", t)
		for _, d := range rows[t] {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", lastKey(d.Key), cell(d.Type), code(d.Default), cell(meaning(d)))
		}
	}
	b.WriteString("\n## An example\n\nEvery line is a comment; remove the `# ` where you want something other than the default.\n\n```toml\n")
	b.WriteString(strings.TrimRight(config.ExampleFile(), "\n"))
	b.WriteString("\n```\n")
	return b.String()
}

// tableOf returns the heading that a key is listed under.
func tableOf(d config.KeyDoc) string {
	i := strings.LastIndex(d.Key, ".")
	switch {
	case i < 0 && d.Context:
		return "Per context: top level, `[[agents]]`, `local.toml`"
	case i < 0:
		return "Top level"
	}
	switch t := d.Key[:i]; t {
	case "agents", "models", "mcp":
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
