package main

import (
	"fmt"
	"strings"

	"fika/internal/extension/hook"
	"fika/internal/extension/plugin"
)

// hooksPage returns the reference of the hook points and of a plugin's environment.
func hooksPage() string {
	var b strings.Builder
	b.WriteString("# Hooks and the environment of plugins\n\n" + notice)
	b.WriteString("A plugin names the points it wants in `hooks` of its schema. At each of these points fika runs the plugin with the name of the point and its\n" +
		"data in the environment, and the plugin answers with a JSON object on stdout; `{}` changes nothing. [Plugins](../guides/plugins.md) shows how to write one.\n\n" +
		"| point | when | data | what an answer may contain |\n|---|---|---|---|\n")
	for _, d := range hook.Points() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.Point, cell(d.When), keys(d.Payload), keys(d.Answer))
	}
	b.WriteString("\n## Environment\n\nIn addition to the variables below, a plugin gets a short list of harmless ones (such as `PATH`, `HOME`, `LANG`), and those that its settings\n" +
		"name (`[plugins.NAME] env = [\"…\"]`). API keys are not among them.\n\n| variable | meaning |\n|---|---|\n")
	for _, v := range plugin.EnvDocs() {
		fmt.Fprintf(&b, "| %s | %s |\n", keys(strings.Split(v[0], ", ")), cell(v[1]))
	}
	return b.String()
}

func keys(list []string) string {
	if len(list) == 0 {
		return "–"
	}
	quoted := make([]string, 0, len(list))
	for _, k := range list {
		quoted = append(quoted, "`"+k+"`")
	}
	return strings.Join(quoted, ", ")
}
