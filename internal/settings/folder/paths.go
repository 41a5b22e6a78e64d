package folder

import (
	"path/filepath"

	"fika"
)

// Paths returns the paths of everything in a home. It opens nothing.
type Paths struct {
	Root string // absolute
}

func (p Paths) path(elem ...string) string {
	return filepath.Join(append([]string{p.Root}, elem...)...)
}

// ConfigFile returns the path of config.toml.
func (p Paths) ConfigFile() string { return p.path("config.toml") }

// ModelsFile returns the path of models.toml.
func (p Paths) ModelsFile() string { return p.path("models.toml") }

// PromptsDir returns the folder with default.md, reflection.md, compaction.md,
// continuation.md.
func (p Paths) PromptsDir() string { return p.path("prompts") }

// RecipesDir returns the folder with the texts of the plugin workflow: ways of working
// that an agent can take up.
func (p Paths) RecipesDir() string { return p.path("prompts", "workflows") }

// WorkflowsDir returns the folder with the definitions of workflows, a NAME.toml each.
func (p Paths) WorkflowsDir() string { return p.path("workflows") }

// ChatsDir returns the folder with the text of chats, a NAME.md each.
func (p Paths) ChatsDir() string { return p.path("chats") }

// CommandsDir returns the folder with a person's own commands of a session, a NAME.md
// each.
func (p Paths) CommandsDir() string { return p.path("commands") }

// SkillsDir returns the folder with the skills, a folder each.
func (p Paths) SkillsDir() string { return p.path("skills") }

// PluginsDir returns the folder with the plugins.
func (p Paths) PluginsDir() string { return p.path("plugins") }

// ContextsDir returns the folder with one folder per context.
func (p Paths) ContextsDir() string { return p.path("contexts") }

// UndoDir returns the folder with what agents have changed, and the previous contents.
func (p Paths) UndoDir() string { return p.path("undo") }

// StateFile returns the path of state.json.
func (p Paths) StateFile() string { return p.path("state.json") }

// VersionFile returns the path of the file with the version that last used the home, so
// that a newer fika can tell what has changed.
func (p Paths) VersionFile() string { return p.path("home_version") }

// DatabaseFile returns the path of the SQLite database.
func (p Paths) DatabaseFile() string { return p.path("fika.db") }

// StoreFile returns the path of the file with the id of this home's store.
func (p Paths) StoreFile() string { return p.path("store_id") }

// KeysFile returns the path of the file with the API keys.
func (p Paths) KeysFile() string { return p.path("keys") }

// RunDir returns the folder for running processes. It may not exist yet; see
// [Home.EnsureDir].
func (p Paths) RunDir() string { return p.path("run") }

// LogsDir returns the folder with one log per agent.
func (p Paths) LogsDir() string { return p.path("run", "logs") }

// LogFile returns the path of the log of an agent's process.
func (p Paths) LogFile(name fika.AgentName) string { return p.path("run", "logs", string(name)+".log") }

// MCPDir returns the folder with what MCP servers have said about their tools, a file
// each.
func (p Paths) MCPDir() string { return p.path("mcp") }

// EditorSocket returns the path of the socket at which the MCP servers are lent that an
// editor brings into a session.
func (p Paths) EditorSocket(session fika.ConversationName) string {
	return p.path("run", "editors", string(session))
}

// MCPLog returns the path of the log of an MCP server's stderr.
func (p Paths) MCPLog(server string) string { return p.path("run", "logs", "mcp-"+server+".log") }
