package folder

import (
	"path/filepath"

	"fika"
)

// Paths says what lies where in a home. It opens nothing.
type Paths struct {
	Root string // absolute
}

func (p Paths) path(elem ...string) string {
	return filepath.Join(append([]string{p.Root}, elem...)...)
}

// ConfigFile is config.toml.
func (p Paths) ConfigFile() string { return p.path("config.toml") }

// ModelsFile is models.toml.
func (p Paths) ModelsFile() string { return p.path("models.toml") }

// PromptsDir holds default.md, reflection.md, compaction.md, continuation.md.
func (p Paths) PromptsDir() string { return p.path("prompts") }

// RecipesDir holds the texts of the plugin workflow: ways of working that an
// agent can take up.
func (p Paths) RecipesDir() string { return p.path("prompts", "workflows") }

// WorkflowsDir holds the definitions of workflows, a NAME.toml each.
func (p Paths) WorkflowsDir() string { return p.path("workflows") }

// ChatsDir holds what was said in chats as text, a NAME.md each.
func (p Paths) ChatsDir() string { return p.path("chats") }

// CommandsDir holds a person's own commands of a session, a NAME.md each.
func (p Paths) CommandsDir() string { return p.path("commands") }

// PluginsDir holds plugins.
func (p Paths) PluginsDir() string { return p.path("plugins") }

// ContextsDir holds one folder per context.
func (p Paths) ContextsDir() string { return p.path("contexts") }

// UndoDir holds what agents have changed, and what was there before.
func (p Paths) UndoDir() string { return p.path("undo") }

// StateFile is state.json.
func (p Paths) StateFile() string { return p.path("state.json") }

// VersionFile says which form of the home was used last, so that a newer fika
// can tell what is different.
func (p Paths) VersionFile() string { return p.path("home_version") }

// DatabaseFile is the SQLite database.
func (p Paths) DatabaseFile() string { return p.path("fika.db") }

// StoreFile holds the id of the store that this home has had.
func (p Paths) StoreFile() string { return p.path("store_id") }

// KeysFile is where API keys are stored.
func (p Paths) KeysFile() string { return p.path("keys") }

// RunDir holds what belongs to running processes. It may not exist yet; see
// [Home.EnsureDir].
func (p Paths) RunDir() string { return p.path("run") }

// LogsDir holds one log per agent.
func (p Paths) LogsDir() string { return p.path("run", "logs") }

// LogFile is where an agent's process logs.
func (p Paths) LogFile(name fika.AgentName) string { return p.path("run", "logs", string(name)+".log") }

// MCPDir holds what MCP servers said of their tools, a file each.
func (p Paths) MCPDir() string { return p.path("mcp") }

// MCPLog is where an MCP server's stderr goes.
func (p Paths) MCPLog(server string) string { return p.path("run", "logs", "mcp-"+server+".log") }
