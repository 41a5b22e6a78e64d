package doctor

import (
	"fmt"
	"slices"
	"strings"

	"fika/internal/app"
	"fika/internal/extension/plugin"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/text/hint"
	"fika/internal/text/spelling"
)

// toolNames checks the names of tools that settings permit or take away. A name close
// to that of an existing tool counts as misspelt and is an error. Any other unknown
// name may belong to a plugin that is not installed yet and has no effect until then:
// a warning.
type toolNames struct {
	known    []string
	servers  []string // names of the MCP servers in the settings
	errs     []error
	warnings []string
}

// checkConfig checks the lists of config.toml.
func (t *toolNames) checkConfig(c *config.Config) {
	t.checkLists("", c.PerContext, c.WhereSet)
	for i := range c.Agents {
		if c.Agents[i].Pool != "" {
			continue // the entry of its pool is checked
		}
		t.checkLists(fmt.Sprintf("agents[%d].", i), c.Agents[i].PerContext, c.WhereSet)
	}
}

// checkLocal checks the lists of a local.toml. A file that cannot be read is reported
// elsewhere.
func (t *toolNames) checkLocal(f folder.Folder) {
	if l, err := config.LoadLocal(f.LocalConfig()); err == nil {
		t.checkLists("", l.PerContext, l.WhereSet)
	}
}

func (t *toolNames) checkLists(path string, c config.PerContext, where func(string) (config.Place, bool)) {
	for _, list := range []struct {
		key   string
		names []string
	}{{"tool_permissions", c.ToolPermissions}, {"tools_off", c.ToolsOff}} {
		at, _ := where(path + list.key)
		for _, name := range list.names {
			t.check(at, list.key, name)
		}
	}
}

func (t *toolNames) check(at config.Place, key, name string) {
	if slices.Contains(t.known, name) || name == app.BoardPermission {
		return
	}
	if server, ok := serverOf(name); ok {
		if !slices.Contains(t.servers, server) {
			t.warnings = append(t.warnings, fmt.Sprintf("%s: %s: %q: MCP server %q not found; %s shows those in the settings", at, key, name, server, hint.MCPList))
		}
		return
	}
	near := spelling.Nearest(name, t.known)
	switch {
	case near != "":
		t.errs = append(t.errs, fmt.Errorf("%s: %s: tool %q not found; did you mean %s?", at, key, name, near))
	case slices.Contains(plugin.ShippedNames(), name):
		t.warnings = append(t.warnings, fmt.Sprintf("%s: %s: the plugin %q is not installed: %s", at, key, name, hint.PluginInstall.With(name)))
	default:
		t.warnings = append(t.warnings, fmt.Sprintf("%s: %s: no tool and no plugin here is called %q; it does nothing until a plugin brings one", at, key, name))
	}
}

// serverOf returns the MCP server that a permission is about: mcp:SERVER or
// SERVER__TOOL. Which tools a server has is known only once it was asked.
func serverOf(permission string) (server string, ok bool) {
	if server, ok = strings.CutPrefix(permission, "mcp:"); ok {
		return server, true
	}
	server, _, ok = strings.Cut(permission, "__")
	return server, ok
}
