package acp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fika"
	"fika/internal/cli/command"
)

// editor is a program that speaks the protocol.
type editor struct {
	name  string
	where string
	entry func(line []string) any // as JSON; nil: text
	text  func(line []string) string
}

func editors() []editor {
	servers := func(more map[string]any) func([]string) any {
		return func(line []string) any {
			entry := map[string]any{"command": line[0], "args": line[1:]}
			for k, v := range more {
				entry[k] = v
			}
			return map[string]any{"agent_servers": map[string]any{"fika": entry}}
		}
	}
	return []editor{
		{name: "zed", where: "~/.config/zed/settings.json (zed: open settings)", entry: servers(map[string]any{"type": "custom"})},
		{name: "jetbrains", where: "~/.jetbrains/acp.json (AI Chat: Add Custom Agent)", entry: servers(nil)},
		{name: "nvim", where: "the setup of CodeCompanion in init.lua", text: codeCompanion},
	}
}

func editorNames() (out []string) {
	for _, e := range editors() {
		out = append(out, e.name)
	}
	return out
}

// codeCompanion is the adapter of the plugin for Neovim.
func codeCompanion(line []string) string {
	words := make([]string, len(line))
	for i, w := range line {
		words[i] = strconv.Quote(w)
	}
	return fmt.Sprintf(`require("codecompanion").setup({
  adapters = {
    acp = {
      fika = function()
        return require("codecompanion.adapters").extend("opencode", {
          name = "fika",
          formatted_name = "fika",
          commands = { default = { %s } },
        })
      end,
    },
  },
  interactions = { chat = { adapter = "fika" } },
})
`, strings.Join(words, ", "))
}

// printEntry prints what the settings of an editor need.
func printEntry(e *command.Env, name string) error {
	i := slices.IndexFunc(editors(), func(x editor) bool { return x.name == name })
	if i < 0 {
		return fika.Errorf(fika.Invalid, "", "%q is not an editor that is known: want one of %s", name, strings.Join(editorNames(), ", "))
	}
	x := editors()[i]
	line, err := e.Self("acp")
	if err != nil {
		return err
	}
	e.Say("this goes into %s:\n", x.where)
	if x.text != nil {
		return e.Print(x.text(line))
	}
	return e.PrintJSON(x.entry(line))
}
