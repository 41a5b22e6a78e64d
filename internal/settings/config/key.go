package config

import (
	"slices"
	"strings"
	"time"
)

// key describes one setting. The strict reader checks against the tables of keys, and
// the reference is generated from them.
type key[T any] struct {
	name    string
	at      func(*T) any  // pointer to the field
	doc     string        // one sentence
	example string        // as TOML; empty: the default is shown
	unit    time.Duration // of a duration written as a number; 0: seconds
	min     float64
	max     float64 // 0: no upper bound
	oneOf   []string
	check   func(v value, at any) string // further check of the value read into the field; returns what is wrong
	// inherits names the table that sets the key for all contexts that do not set it
	// themselves; the top level has no such key.
	inherits string
}

func topKeys() []key[Config] {
	return []key[Config]{
		{name: "lock_heartbeat", at: func(c *Config) any { return &c.LockHeartbeat }, min: 1, max: 3600,
			doc: "How often a process that owns a context touches its lock; a lock that has been silent for 1.5 times as long is stale. Not allowed in local.toml."},
		{name: "trust", at: func(c *Config) any { return &c.Trust }, example: `["~/src"]`,
			doc: "Folders whose AGENTS.md files (or CLAUDE.md), including those in folders below, may enter a prompt in their current version. In a project, use fika trust instead."},
		{name: "update_url", at: func(c *Config) any { return &c.UpdateURL }, check: checkUpdateURL, example: `"https://example.com/fika"`,
			doc: "Where fika update --check looks for the newest version: the folder with the archives and their SHA256SUMS. FIKA_UPDATE_URL wins. Without both, it is where the install script fetched fika from. Nothing is asked by itself."},
		{name: "nats", at: func(c *Config) any { return &c.NATS }},
		{name: "master", at: func(c *Config) any { return &c.Master }},
		{name: "hub", at: func(c *Config) any { return &c.Hub }},
		{name: "web", at: func(c *Config) any { return &c.Web }},
		{name: "doors", at: func(c *Config) any { return &c.Doors }},
		{name: "terminal", at: func(c *Config) any { return &c.Terminal }},
		{name: "store", at: func(c *Config) any { return &c.Store }},
		{name: "keep", at: func(c *Config) any { return &c.Keep }},
		{name: "chat", at: func(c *Config) any { return &c.Chat }},
		{name: "board", at: func(c *Config) any { return &c.Board }},
		{name: "landing", at: func(c *Config) any { return &c.Landing }},
		{name: "answer", at: func(c *Config) any { return &c.Answer }},
		{name: "tools", at: func(c *Config) any { return &c.Tools }},
		{name: "guard", at: func(c *Config) any { return &c.Guard }},
		{name: "sandbox", at: func(c *Config) any { return &c.Sandbox }},
		{name: "plugins", at: func(c *Config) any { return &c.Plugins }},
		{name: "mcp", at: func(c *Config) any { return &c.MCP }},
		{name: "agents", at: func(c *Config) any { return &c.Agents }},
		{name: "routing", at: func(c *Config) any { return &c.Routing }},
		{name: "executors", at: func(c *Config) any { return &c.Executors }},
		{name: "hosts", at: func(c *Config) any { return &c.OnDemand }},
		{name: "models", at: func(c *Config) any { return &c.Models }},
		{name: "bus_members", at: func(c *Config) any { return &c.BusMembers }},
		{name: "webhooks", at: func(c *Config) any { return &c.Webhooks }},
		{name: "otlp", at: func(c *Config) any { return &c.OTLP }},
		{name: "budgets", at: func(c *Config) any { return &c.Budgets }},
		{name: "schedules", at: func(c *Config) any { return &c.Schedules }},
	}
}

// limitKeys are the keys of limits: for all agents in [chat], for one agent in its own
// settings.
func limitKeys[T any](in func(*T) *Limits, inherits string) []key[T] {
	keys := []key[T]{
		{name: "max_depth", at: func(t *T) any { return &in(t).MaxDepth }, doc: "How many answers may follow one another after a message of yours; 0 is no limit."},
		{name: "max_turns_per_chain", at: func(t *T) any { return &in(t).MaxTurnsPerChain }, doc: "How many turns one message of yours may set off; 0 is no limit."},
		{name: "max_tokens_per_chain", at: func(t *T) any { return &in(t).MaxTokensPerChain }, example: "2000000", doc: "How many tokens one message of yours may use; 0 is no limit. A turn that reaches the limit ends before its next model call."},
		{name: "max_cost_per_chain", at: func(t *T) any { return &in(t).MaxCostPerChain }, example: "5.00", doc: "How much money one message of yours may cost, in US dollars; 0 is no limit. Needs models whose prices are known."},
		{name: "max_chain_age", at: func(t *T) any { return &in(t).MaxChainAge }, example: `"6h"`, doc: "How long the work that one message of yours sets off may take, counted from its first turn; 0 is no limit."},
		{name: "max_echo", at: func(t *T) any { return &in(t).MaxEcho }, doc: "How many messages two agents may exchange in which each only repeats itself (nine tenths of its three-word sequences); at least 4; 0 is no limit.",
			check: func(_ value, at any) string {
				if n := *at.(*int); n > 0 && n < 4 {
					return "fewer than 4 messages are too few to tell"
				}
				return ""
			}},
		{name: "max_turns_per_hour", at: func(t *T) any { return &in(t).MaxTurnsPerHour }, example: "60", doc: "How many turns one agent may begin in a clock hour, whoever asks; 0 is no limit. Work that is still waiting continues in the next hour."},
		{name: "max_tokens_per_hour", at: func(t *T) any { return &in(t).MaxTokensPerHour }, example: "500000", doc: "How many tokens one agent may use in a clock hour; 0 is no limit. A turn that reaches the limit waits before its next model call."},
	}
	return inheritFrom(keys, inherits)
}

// inheritFrom marks keys as set for all by a table; empty: by none.
func inheritFrom[T any](keys []key[T], table string) []key[T] {
	for i := range keys {
		if keys[i].inherits = table; table != "" {
			keys[i].doc = "The key of `[" + table + "]` (see there), for this agent; may also be in its local.toml. Unset: the value of `[" + table + "]`."
		}
	}
	return keys
}

// BuiltinTools returns the tools that are shipped with fika and that an agent has only
// if its tool_permissions allow them, board standing for all of the board; [DefaultTools] applies if these are not set.
func BuiltinTools() []string {
	return []string{"read", "list", "edit", "create", "bash", "fetch", "recall", "offer", "board", "run_workflow"}
}

// DefaultTools returns those of [BuiltinTools] that an agent without tool_permissions
// has.
func DefaultTools() []string { return []string{"read", "list"} }

// contextKeys returns the keys of [PerContext].
func contextKeys() []key[PerContext] { return append(ownKeys(), inheritedKeys()...) }

// inheritedKeys returns the keys of [PerContext] that tables set for all.
func inheritedKeys() []key[PerContext] {
	return slices.Concat(
		limitKeys(func(c *PerContext) *Limits { return &c.Limits }, "chat"),
		confinementKeys(func(c *PerContext) *Confinement { return &c.Confinement }, "guard"),
		inheritFrom([]key[PerContext]{lendKey(func(c *PerContext) *[]string { return &c.Lend }), hostsKey(func(c *PerContext) *[]string { return &c.Hosts })}, "sandbox"),
		inheritFrom([]key[PerContext]{executorKey(func(c *PerContext) *string { return &c.Executor })}, "tools"),
	)
}

func ownKeys() []key[PerContext] {
	return []key[PerContext]{
		{name: "model", at: func(c *PerContext) any { return &c.Model }, example: `"sonnet"`,
			doc: "The model, by id or nickname. At the top level: the default of every context."},
		{name: "username", at: func(c *PerContext) any { return &c.Username }, check: checkUsername,
			doc: "What you are called in prompts and transcripts. Unset: the name of your account ($USER), if nobody else here is called so; else user."},
		{name: "provider", at: func(c *PerContext) any { return &c.Provider }, oneOf: providerNames(), example: `"openai"`,
			doc: "The protocol for the model, overriding the model's definition."},
		{name: "base_url", at: func(c *PerContext) any { return &c.BaseURL }, check: checkURL, example: `"http://127.0.0.1:11434/v1"`,
			doc: "The address of the model, overriding the model's definition. At the top level: the address of models that have none of their own."},
		{name: "api_key_env", at: func(c *PerContext) any { return &c.APIKeyEnv }, check: checkEnvName, example: `"OPENAI_API_KEY"`,
			doc: "The environment variable that holds the key, overriding the model's definition."},
		{name: "reasoning", at: func(c *PerContext) any { return &c.Reasoning }, example: `{effort = "medium"}`,
			doc: "How much the model is asked to reason. In the environment, where no table can stand: an effort, as medium, or a number of tokens."},
		{name: "max_tokens", at: func(c *PerContext) any { return &c.MaxTokens }, example: "8192",
			doc: "The maximum number of tokens in one answer; 0 takes the value of the model's definition."},
		{name: "system_prompt", at: func(c *PerContext) any { return &c.SystemPrompt }, example: `"prompts/coder.md"`,
			doc: "The system prompt: a path (one line that begins with / ./ ../ or ~/, or ends in .md or .txt; relative to the home) or the text itself. A context's system_prompt.md wins."},
		{name: "tool_permissions", at: func(c *PerContext) any { return &c.ToolPermissions }, example: `["read", "list", "edit"]`,
			doc: "The only tools that may run, out of " + strings.Join(BuiltinTools(), ", ") + ", the tools of plugins and those of MCP servers (mcp:NAME for all tools of a server, or NAME__TOOL). Unset: " + strings.Join(DefaultTools(), ", ") + " and every plugin."},
		{name: "tools_off", at: func(c *PerContext) any { return &c.ToolsOff }, example: `["send_message"]`,
			doc: "Removes tools that are otherwise offered whatever tool_permissions says: update_todos, update_goals, update_reflection, send_message, read_context, create_context, delegate, skill."},
		{name: "skills", at: func(c *PerContext) any { return &c.Skills }, check: checkSkills, example: `["*"]`,
			doc: "The skills that may be used, by name, or * for all (fika skill list). Their names and descriptions are in the prompt; the tool skill loads one. Unset: none."},
		{name: "workspace", at: func(c *PerContext) any { return &c.Workspace }, example: `"~/src/project"`,
			doc: "The folder that file tools cannot leave. `worktree`: the agent's own working tree, a clone of the repository, which fika agent merge merges into yours. Unset: the folder you are in; for an agent that the hub started, the project's folder, or else contexts/NAME/workspace."},
		{name: "readable_by", at: func(c *PerContext) any { return &c.ReadableBy }, check: checkNames, example: `["reviewer"]`,
			doc: "The agents that may read this context. Unset: every agent of this home; []: none."},
		{name: "callable_by", at: func(c *PerContext) any { return &c.CallableBy }, check: checkCallers, example: `["user", "reviewer"]`,
			doc: "Who may mention, message or delegate to this agent: names of agents, user for you (and for programs that ask on your behalf), * for all. Unset: everybody; []: nobody."},
		{name: "env", at: func(c *PerContext) any { return &c.Env }, example: `{CGO_ENABLED = "0"}`,
			doc: "Variables that are added to the environment of the agent's tools."},
		{name: "agents_md", at: func(c *PerContext) any { return &c.AgentsMD },
			doc: "Puts the AGENTS.md files of a trusted workspace into the system prompt, from its root down to the folder of the work, at most 256 KiB in all; in a folder without one, its CLAUDE.md."},
		{name: "auto_compact", at: func(c *PerContext) any { return &c.AutoCompact },
			doc: "Compacts a conversation by itself when it has grown past auto_compact_threshold, or when the provider finds it too long: an agent's own, a task's and, for each agent apart, a chat's."},
		{name: "auto_compact_threshold", at: func(c *PerContext) any { return &c.AutoCompactThreshold }, min: 1, max: 100,
			doc: "Percentage of the window at which auto_compact acts. The conversation is brought down to about half of it."},
		{name: "warn_threshold_percent", at: func(c *PerContext) any { return &c.WarnThresholdPercent }, max: 100,
			doc: "Percentage of the window from which a warning goes to stderr; 0 never warns."},
		{name: "rolling_compact_drop_percentage", at: func(c *PerContext) any { return &c.RollingCompactDrop }, min: 1, max: 100,
			doc: "Percentage of the conversation's entries that fika context compact --rolling folds into the summary, at least."},
		{name: "context_window_limit", at: func(c *PerContext) any { return &c.ContextWindowLimit }, example: "100000",
			doc: "Size of the window in tokens; 0 takes the model's own."},
		{name: "max_recursion_depth", at: func(c *PerContext) any { return &c.MaxRecursionDepth }, min: 1, max: 10000,
			doc: "How many model calls one turn may make."},
		{name: "reflection_enabled", at: func(c *PerContext) any { return &c.ReflectionEnabled },
			doc: "Gives the model its lasting notes (contexts/NAME/reflection.md), the tool that writes them, and your notes for all agents (prompts/reflection.md)."},
		{name: "reflection_character_limit", at: func(c *PerContext) any { return &c.ReflectionCharacterLimit },
			doc: "The maximum number of characters in these lasting notes."},
		{name: "rules", at: func(c *PerContext) any { return &c.Rules }, example: "[{tool = \"bash\", match = \"git push *\", do = \"ask\"}]",
			doc: "What tools may do, as [[rules]]. The rules of the home, of the agent and of the context apply together; fika rules test shows the result."},
		{name: "limits", at: func(c *PerContext) any { return &c.Resources }, example: `{memory = "2GiB", cpu = 2, pids = 200}`,
			doc: "How much of the machine all processes of this agent's tools may use together: [agents.limits] under the agent's [[agents]] entry, or [limits] for every agent. Needs control groups that this user may divide; fika doctor reports whether there are any."},
		{name: "patience", at: func(c *PerContext) any { return &c.Patience },
			doc: "How long the provider of a model is asked again that is overloaded, limits the rate or cannot be reached, from its first failure on. A retry-after is honoured within this time. 0 gives up at once."},
		{name: "patience_background", at: func(c *PerContext) any { return &c.PatienceBackground },
			doc: "The same for work that nobody waits for: of schedules, workflows and other agents."},
		{name: "turn_timeout", at: func(c *PerContext) any { return &c.TurnTimeout }, example: "600",
			doc: "Ends a turn that takes longer; 0 is no limit."},
	}
}

func natsKeys() []key[NATS] {
	return []key[NATS]{
		{name: "server", at: func(n *NATS) any { return &n.Server }, check: checkNATS, example: `"nats://localhost:4222"`,
			doc: "The NATS server. Unset: the hub runs its own, on loopback. If nothing answers at a loopback address given here, the hub's own server listens there."},
		{name: "timeout", at: func(n *NATS) any { return &n.Timeout }, min: 0.001,
			doc: "How long one call on the bus may take; it does not limit the length of a turn."},
		{name: "reconnect_attempts", at: func(n *NATS) any { return &n.ReconnectAttempts }, min: 1, max: 1000,
			doc: "How many times a command tries to reach a bus on another machine before it works without it or fails; the hub, agents and commands that had reached it try until it is back."},
		{name: "reconnect_delay", at: func(n *NATS) any { return &n.ReconnectDelay },
			doc: "The pause before fika tries again to reach the bus; it doubles with each attempt up to two seconds, and stays as it is if it is longer than that."},
		{name: "user", at: func(n *NATS) any { return &n.User }, example: `"fika"`, doc: "User name at the server."},
		{name: "password", at: func(n *NATS) any { return &n.Password }, example: `"…"`, doc: "Password of that user, in plain text; password_env is better."},
		{name: "password_env", at: func(n *NATS) any { return &n.PasswordEnv }, check: checkEnvName, example: `"NATS_PASSWORD"`, doc: "The environment variable that holds the password, or the name under which it is stored (fika key set)."},
		{name: "token", at: func(n *NATS) any { return &n.Token }, example: `"…"`, doc: "A token instead of a user, in plain text; token_env is better."},
		{name: "token_env", at: func(n *NATS) any { return &n.TokenEnv }, check: checkEnvName, example: `"NATS_TOKEN"`, doc: "The environment variable that holds the token."},
		{name: "nkey", at: func(n *NATS) any { return &n.NKey }, example: `"~/.nkeys/fika.nk"`, doc: "Path of an nkey seed file."},
		{name: "creds", at: func(n *NATS) any { return &n.Creds }, example: `"~/fika.creds"`, doc: "Path of a credentials file."},
		{name: "tls", at: func(n *NATS) any { return &n.TLS }, doc: "Certificates."},
		{name: "subject_prefix", at: func(n *NATS) any { return &n.SubjectPrefix }, check: checkPrefix,
			doc: "The prefix of every subject. Each prefix belongs to one store."},
		{name: "request_tools", at: func(n *NATS) any { return &n.RequestTools }, example: `["read", "list", "fetch"]`,
			doc: "The tools that requests from other programs over your own NATS server may make an agent use at most; * allows all that the agent may use. Nobody can tell who publishes on that server, so [[bus_members]] does not apply to these requests. Requests over the hub's server need the credential that fika made for your programs, and then have the agent's own rights, or the credential of a member."},
		{name: "port", at: func(n *NATS) any { return &n.Port }, max: 65535, example: "4222",
			doc: "Port of the hub's own server; with 0, the hub chooses one once and keeps it."},
	}
}

func tlsKeys() []key[TLS] {
	return []key[TLS]{
		{name: "ca", at: func(t *TLS) any { return &t.CA }, example: `"ca.pem"`, doc: "Path of the authority's certificate."},
		{name: "cert", at: func(t *TLS) any { return &t.Cert }, example: `"client.pem"`, doc: "Path of the client's certificate."},
		{name: "key", at: func(t *TLS) any { return &t.Key }, example: `"client-key.pem"`, doc: "Path of the client's key."},
	}
}

func masterKeys() []key[Master] {
	return []key[Master]{
		{name: "enabled", at: func(m *Master) any { return &m.Enabled }, doc: "Makes fika without arguments, on a terminal, open the master console (fika run still takes one prompt)."},
		{name: "default_agent", at: func(m *Master) any { return &m.DefaultAgent }, check: checkName, example: `"coder"`, doc: "The agent that gets what you type without @name."},
		{name: "auto_start_agents", at: func(m *Master) any { return &m.AutoStartAgents }, doc: "Starts agents that have auto_start = true when the hub starts."},
		{name: "heartbeat_check_interval", at: func(m *Master) any { return &m.HeartbeatCheckInterval }, min: 1, doc: "How often the master console checks the health of agents."},
	}
}

func hubKeys() []key[Hub] {
	return []key[Hub]{
		{name: "autostart", at: func(h *Hub) any { return &h.Autostart }, doc: "Lets commands that need the hub start it in the background."},
		{name: "max_idle", at: func(h *Hub) any { return &h.MaxIdle },
			doc: "How long the hub of a project stays idle before it ends: no work under way, waiting or scheduled, no agent with auto_start or running as persistent, nobody following it; 0: for ever. The hub of a home without a project does not end by itself."},
	}
}

func webKeys() []key[Web] {
	return []key[Web]{
		{name: "listen", at: func(w *Web) any { return &w.Listen }, check: checkListen, example: `"127.0.0.1:0"`,
			doc: "The loopback address and port at which the hub always serves the page; with port 0, it keeps the port that it found free first. Unset: it serves the page once fika web asks for it, at 127.0.0.1:0, until fika web logout."},
	}
}

func doorKeys() []key[Doors] {
	return []key[Doors]{
		{name: "metrics", at: func(d *Doors) any { return &d.Metrics }, doc: "Makes the hub show its figures at /metrics, at the address of the page, for Prometheus and programs like it, each with a token of fika web token create."},
		{name: "mcp", at: func(d *Doors) any { return &d.MCP }, doc: "Makes the hub an MCP server at /mcp, at the address of the page, for other agent programs, each with a token of fika web token create. fika mcp serve needs neither."},
	}
}

func terminalKeys() []key[Terminal] {
	return []key[Terminal]{
		{name: "markdown", at: func(t *Terminal) any { return &t.Markdown }, doc: "Shows on a terminal what agents say as rendered Markdown, block by block, with their tool calls; false shows the text as written. Output that does not go to a terminal is always as written."},
		{name: "notify", at: func(t *Terminal) any { return &t.Notify }, doc: "Lets a session and a joined chat set the terminal's title, and send the terminal a notification (OSC 9) and a bell when work of ten seconds or more is done or a tool call waits for your decision. Never with NO_COLOR or on a dumb terminal."},
	}
}

func boardKeys() []key[Board] {
	return []key[Board]{
		{name: "patience", at: func(b *Board) any { return &b.Patience }, min: 1, doc: "How long an agent that has a task of the board may be gone before others may take the task."},
		{name: "tainted", at: func(b *Board) any { return &b.Tainted }, oneOf: []string{TaskAsks, TaskOpens}, doc: "What becomes of tasks that an agent adds, and of work that it offers for landing, after it has read text from outside: they wait for a person (ask), or go on like any other (allow)."},
	}
}

func landingKeys() []key[Landing] {
	return []key[Landing]{
		{name: "into", at: func(l *Landing) any { return &l.Into }, doc: "The branch of the project on which offered work lands. See docs/guides/landing.md."},
		{name: "check", at: func(l *Landing) any { return &l.Check }, example: `"make test"`, doc: "The command that says whether work is good: it is run for every commit that the branch is to become, in a clone of its own, confined as the commands of agents are. Unset: nothing lands."},
		{name: "strategy", at: func(l *Landing) any { return &l.Strategy }, oneOf: []string{LandRebase, LandMerge, LandSquash}, doc: "How work is put on the branch: commit by commit on top (rebase), as one commit with two parents (merge), or as one commit (squash)."},
		{name: "timeout", at: func(l *Landing) any { return &l.Timeout }, min: 1, max: 7200, doc: "How long the check may take; then it is ended and has failed."},
		{name: "max_rounds", at: func(l *Landing) any { return &l.MaxRounds }, max: 20, doc: "How often an offer of an agent that conflicts, whose check fails or that a reviewer does not call good comes back to the agent; then it waits for you. 0: never."},
		{name: "reviewers", at: func(l *Landing) any { return &l.Reviewers }, example: `["reviewer"]`, doc: "Agents that look at what other agents offer before it is checked. It continues when all of them call it good. Unset: nobody does."},
		{name: "mode", at: func(l *Landing) any { return &l.Mode }, oneOf: []string{PushLocal, PushRemote}, doc: "Whether what has landed stays in this repository (local) or is pushed, too (push): with your own git, never forced, to the branch fika/landing/ and the name of the branch, and never to the branch itself."},
		{name: "remote", at: func(l *Landing) any { return &l.Remote }, check: checkRemote, doc: "The remote of the repository to which mode = \"push\" pushes."},
		{name: "after", at: func(l *Landing) any { return &l.After }, example: `"gh pr create --fill --head $FIKA_LANDED_BRANCH --base $FIKA_LANDED_INTO"`, doc: "With mode = \"push\", a command that runs after each push in the project's folder, as you and confined by nothing, once you have said yes to it as it stands. FIKA_LANDED_REMOTE, FIKA_LANDED_BRANCH, FIKA_LANDED_INTO, FIKA_LANDED_COMMIT and FIKA_LANDED_OFFERS say what was pushed. Unset: none."},
	}
}

func routingKeys() []key[Routing] {
	return []key[Routing]{
		{name: "model", at: func(r *Routing) any { return &r.Model }, example: `"haiku"`, doc: "The model, by id or nickname, that decides which agent a prompt is for when fika agent route is not sure; it serves fika agent route, auto and @auto. The model gets the prompt and the contents of the agents' entries. Unset: no model is asked."},
	}
}

func storeKeys() []key[Store] {
	return []key[Store]{
		{name: "url", at: func(s *Store) any { return &s.URL }, check: checkStore, doc: "Address of a PostgreSQL database, as in postgres://user@host/name?search_path=schema; empty: fika.db in the home. fika store move copies existing data."},
		{name: "backups", at: func(s *Store) any { return &s.Backups }, doc: "How many backups the hub keeps in backups/ of the home; it makes one a day. With 0 it makes none."},
	}
}

func chatKeys() []key[Chat] {
	return append(limitKeys(func(c *Chat) *Limits { return &c.Limits }, ""),
		key[Chat]{name: "message_ttl", at: func(c *Chat) any { return &c.MessageTTL }, example: `"90d"`, doc: "How long messages are kept; 0 is for ever. Pinned messages stay."})
}

func toolKeys() []key[Tools] {
	return []key[Tools]{
		{name: "timeout", at: func(t *Tools) any { return &t.Timeout }, min: 1, doc: "How long one tool call may take."},
		{name: "allow_private_fetch", at: func(t *Tools) any { return &t.AllowPrivateFetch }, doc: "Lets fetch reach private and loopback addresses."},
		{name: "max_output_bytes", at: func(t *Tools) any { return &t.MaxOutputBytes }, min: 1024, doc: "How much of one result the model sees; a file keeps the whole result."},
		{name: "max_fetch_bytes", at: func(t *Tools) any { return &t.MaxFetchBytes }, min: 1024, doc: "How much one fetch may download."},
		{name: "search_above", at: func(t *Tools) any { return &t.SearchAbove }, doc: "How many tools of MCP servers an agent is shown in each request. If it may use more, it is shown tool_search instead, and from then on what it finds; 0 always shows all."},
		{name: "server_idle", at: func(t *Tools) any { return &t.ServerIdle }, example: `"10m"`, doc: "How long an MCP server may be idle before its process is ended; the next call starts it again. 0 keeps it until the agent's process ends."},
		{name: "guest_idle", at: func(t *Tools) any { return &t.GuestIdle }, example: `"10m"`, doc: "How long the program of a guest may be idle after a turn, ready for the next one in the same conversation, before it is ended. 0 ends it with each turn."},
		{name: "delegate_deadline", at: func(t *Tools) any { return &t.DelegateDeadline }, min: 1, doc: "How long a delegated task may take if the delegating agent sets no deadline."},
		executorKey(func(t *Tools) *string { return &t.Executor }),
	}
}

func answerKeys() []key[Answer] {
	return []key[Answer]{
		{name: "max_tool_calls", at: func(a *Answer) any { return &a.MaxToolCalls }, min: 1, doc: "How many tools a model may call in one answer; none of more is run."},
		{name: "max_bytes", at: func(a *Answer) any { return &a.MaxBytes }, min: 1024, max: 16 << 20, doc: "How long one answer may be, with reasoning and the arguments of tool calls."},
		{name: "max_silent", at: func(a *Answer) any { return &a.MaxSilent }, min: 1, doc: "How long a provider may send only signs of life."},
		{name: "max_time", at: func(a *Answer) any { return &a.MaxTime }, min: 1, doc: "How long one answer may take."},
	}
}

func pluginKeys() []key[Plugin] {
	return []key[Plugin]{
		{name: "env", at: func(p *Plugin) any { return &p.Env }, example: `["GITHUB_TOKEN"]`, doc: "Names of environment variables that the plugin gets in addition to the usual few."},
		{name: "timeout", at: func(p *Plugin) any { return &p.Timeout }, example: "60", doc: "How long one call of the plugin may take; 0 takes what the plugin asks for, or else a minute (30 seconds for a hook)."},
		{name: "stdin", at: func(p *Plugin) any { return &p.Stdin }, oneOf: []string{"terminal", "json"}, example: `"json"`, doc: "What the plugin reads on stdin when somebody is at a terminal: the terminal, or its arguments as JSON (as it does in any case when nobody is)."},
		{name: "access", at: func(p *Plugin) any { return &p.Access }, oneOf: []string{"own", "home"}, example: `"home"`, doc: "What the plugin can reach of fika: with own, its own files; with home, everything that fika itself can reach, including the network. home is for plugins that start fika."},
		{name: "disabled", at: func(p *Plugin) any { return &p.Disabled }, doc: "Keeps the plugin installed but unused."},
	}
}

func agentKeys() []key[Agent] {
	return []key[Agent]{
		{name: "id", at: func(a *Agent) any { return &a.ID }, check: checkName, example: `"coder"`, doc: "The agent's name, as in @coder: 1 to 32 of a-z 0-9 _ -. Required."},
		{name: "name", at: func(a *Agent) any { return &a.Name }, example: `"Code Expert"`, doc: "The agent's name for people; fika agent list --json shows it."},
		{name: "description", at: func(a *Agent) any { return &a.Description }, example: `"Writes and debugs code"`, doc: "What the agent is for. The first 40 characters appear in the prompts of agents that can reach it and in errors about unknown names; fika agent list and the completion of names show the description."},
		{name: "capabilities", at: func(a *Agent) any { return &a.Capabilities }, example: `["coding", "testing"]`, doc: "What the agent is good at, in single words: shown to other agents and by fika agent list; fika agent route uses them, and so do steps of workflows that name a capability instead of an agent."},
		{name: "examples", at: func(a *Agent) any { return &a.Examples }, example: `["is this diff safe to merge?"]`, doc: "Prompts that are for this agent, as people write them: fika agent route and auto use them in addition to its name, description and capabilities."},
		{name: "engine", at: func(a *Agent) any { return &a.Engine }, oneOf: []string{EngineACP}, example: `"acp"`, doc: "What does the agent's turns. acp: another agent program that speaks the Agent Client Protocol, which command starts. Unset: a model, with fika's tools. See docs/guides/guests.md."},
		{name: "command", at: func(a *Agent) any { return &a.Command }, example: `["claude-agent-acp"]`, doc: "The program of an agent with engine = \"acp\", and its arguments: a name in PATH or a path (relative to the home)."},
		{name: "billing", at: func(a *Agent) any { return &a.Billing }, oneOf: []string{Subscription, Free}, example: `"subscription"`, doc: "What pays for an agent with engine = \"acp\": subscription for an account at a flat rate, free for a program that costs nothing, as with a model on this machine. Its turns then count for no limit of money. Unset: what the program says it costs."},
		{name: "prices", at: func(a *Agent) any { return &a.Prices }, example: "{input = 1.25, output = 10.0, cached = 0.125}", doc: "US dollars per million tokens, for an agent with engine = \"acp\" whose program tells its tokens, but not what they cost."},
		{name: "models", at: func(a *Agent) any { return &a.Models }, example: `["haiku", "opus"]`, doc: "Several models instead of model, by id or nickname: the first is used unless model_rules or escalate choose a later one. Within a turn fika never goes back to an earlier model."},
		{name: "model_rules", at: func(a *Agent) any { return &a.ModelRules }, example: `[{tokens = 20000, use = "opus"}]`, doc: "When fika uses a later one of models: of all rules that match, the one that names the latest model counts."},
		{name: "escalate", at: func(a *Agent) any { return &a.Escalate }, max: 100, example: "2", doc: "After how many consecutive failed rounds fika asks the next of models: rounds in which every tool call failed, answers that are not in the requested form, empty answers, and earlier attempts at the same work; 0: never."},
		{name: "auto_start", at: func(a *Agent) any { return &a.AutoStart }, doc: "The hub starts the agent when the hub itself starts."},
		{name: "persistent", at: func(a *Agent) any { return &a.Persistent }, doc: "The agent keeps running when idle."},
		{name: "wake", at: func(a *Agent) any { return &a.Wake }, doc: "The hub starts the agent when work waits for it."},
		{name: "max_idle", at: func(a *Agent) any { return &a.MaxIdle }, doc: "How long an agent that is not persistent stays idle before it ends."},
		{name: "max_concurrent", at: func(a *Agent) any { return &a.MaxConcurrent }, min: 1, max: 64, doc: "How many turns the agent may run at once."},
		{name: "board", at: func(a *Agent) any { return &a.Board }, example: "true", doc: "The agent takes tasks of the board that are for it, for one of its capabilities, or for anybody, when it has nothing else to do. See docs/guides/board.md."},
		{name: "board_max", at: func(a *Agent) any { return &a.BoardMax }, min: 1, max: 64, doc: "How many tasks of the board the agent has at once; it works on max_concurrent of them."},
		{name: "instances", at: func(a *Agent) any { return &a.Instances }, min: 1, max: MaxInstances, example: "4", doc: "Makes the entry a pool of this many members, coder-1 to coder-4, each with a context, a process and limits of its own: a free member works on what the pool is asked. Unset: one agent. See docs/guides/pools.md."},
		{name: "places", at: func(a *Agent) any { return &a.Places }, min: 1, max: MaxInstances, example: "2", doc: "Of a pool that several hosts define: how many of its members this host has. It takes those that no other host has, and keeps them. Unset: the pool is on one host."},
		{name: "backup", at: func(a *Agent) any { return &a.Backup }, check: checkNames, example: `["reviewer"]`, doc: "The agents that take over requests while this agent has failed, its provider fails for good, or it has no budget: the first of them that can. Only requests that nobody has begun or no model has answered are handed over, and they stay there. See docs/guides/pools.md."},
		{name: "run_on", at: func(a *Agent) any { return &a.RunOn }, check: checkHostWords, example: `["gpu", "!laptop"]`, doc: "Where the agent may run, if several machines share the database: on the hosts that have one of these names or labels (fika store host label), and on none with a name or label after !. While no host fits, its work waits. Unset: anywhere. See docs/guides/machines.md."},
		{name: "workspace_on", at: func(a *Agent) any { return &a.WorkspaceOn }, oneOf: []string{OnHost, OnShared, OnGit}, example: `"git"`, doc: "Where the agent's files are, if several machines share the database, and so whether another of them continues its work when its own is down. host: on its host alone, for which its work then waits (also when unset). shared: in workspace, a folder of the network that is the same on every host. git: in its own worktree (workspace = \"worktree\"), which is pushed to the repository's remote at the end of each turn. See docs/guides/machines.md."},
	}
}

func modelKeys() []key[Model] {
	return []key[Model]{
		{name: "id", at: func(m *Model) any { return &m.ID }, example: `"claude-sonnet-5-5"`, doc: "The name of the model here. Required."},
		{name: "nickname", at: func(m *Model) any { return &m.Nickname }, example: `"sonnet"`, doc: "A shorter name for the model."},
		{name: "provider", at: func(m *Model) any { return &m.Provider }, oneOf: providerNames(), example: `"anthropic"`, doc: "The protocol for the model. Unset: guessed from base_url."},
		{name: "base_url", at: func(m *Model) any { return &m.BaseURL }, check: checkURL, example: `"https://api.anthropic.com/v1"`, doc: "The address of the model. Unset: OPENAI_BASE_URL, OPENAI_API_BASE or ANTHROPIC_BASE_URL from the environment, or else the provider's own address, derived from the id."},
		{name: "api_key_env", at: func(m *Model) any { return &m.APIKeyEnv }, check: checkEnvName, example: `"ANTHROPIC_API_KEY"`, doc: "The environment variable that holds the key. Unset: the provider's usual one; none on loopback."},
		{name: "headers", at: func(m *Model) any { return &m.Headers }, check: checkHeaders, example: `["x-portkey-provider: bedrock"]`, doc: "HTTP headers that a gateway wants with each call, as name: value. A value of $NAME is taken from the environment variable or the stored key of that name."},
		{name: "insecure", at: func(m *Model) any { return &m.Insecure }, example: "true", doc: "Allows fika to send the key over plain http to another machine, where others can read it; without this setting, fika refuses."},
		{name: "model", at: func(m *Model) any { return &m.WireModel }, example: `"claude-sonnet-5-5"`, doc: "The provider's name for the model, if it is not the id."},
		{name: "context_window", at: func(m *Model) any { return &m.ContextWindow }, example: "200000", doc: "How many tokens the model can read and write together. Unset: what fika model list shows, or else 128000."},
		{name: "max_tokens", at: func(m *Model) any { return &m.MaxTokens }, example: "8192", doc: "The maximum number of tokens in one answer, reasoning not counted by Anthropic. Unset: as many as the model can write, as far as that is known, and a longer answer is continued."},
		{name: "prices", at: func(m *Model) any { return &m.Prices }, example: "{input = 3.0, output = 15.0, cached = 0.3, cache_write = 3.75}", doc: "US dollars per million tokens, instead of the prices that fika knows. A model that costs nothing has {input = 0, output = 0}."},
		{name: "reserve", at: func(m *Model) any { return &m.Reserve }, example: "{input = 20000, output = 4000}", doc: "Tokens that budgets set aside for a call before it is made; later calls of a turn set aside at least what the most expensive earlier one has used."},
		{name: "reasoning", at: func(m *Model) any { return &m.Reasoning }, example: `{effort = "medium"}`, doc: "How much the model is asked to reason."},
		{name: "cache_control", at: func(m *Model) any { return &m.CacheControl }, example: "true", doc: "Tells a gateway that speaks OpenAI's protocol what Claude is to cache. At openrouter.ai this is done for Claude without it."},
		{name: "cache_for", at: func(m *Model) any { return &m.CacheFor }, oneOf: []string{CacheMinutes, CacheHour}, example: `"1h"`, doc: "How long Claude caches what it is sent. 1h pays where minutes pass between calls: writing to the cache then costs 2 times input instead of 1.25. Unset: 5m."},
		{name: "images", at: func(m *Model) any { return &m.Images }, oneOf: []string{ImagesSent, ImagesAsText, ImagesRefused}, example: `"text"`, doc: "What happens to pictures in a prompt: the model gets them (send, also when unset), the model gets only the line that mentions them (text), or the request fails (refuse)."},
		{name: "rules", at: func(m *Model) any { return &m.Rules }, example: `"rules.toml"`, doc: "For a scripted model: the file with its answers, relative to the home."},
	}
}

func priceKeys() []key[Prices] {
	return []key[Prices]{
		{name: "input", at: func(p *Prices) any { return &p.Input }, example: "3.0", doc: "For what the model reads."},
		{name: "output", at: func(p *Prices) any { return &p.Output }, example: "15.0", doc: "For what the model writes, including reasoning."},
		{name: "cached", at: func(p *Prices) any { return &p.Cached }, example: "0.3", doc: "For what the model reads from its cache. Unset: the same as input."},
		{name: "cache_write", at: func(p *Prices) any { return &p.CacheWrite }, example: "3.75", doc: "For what is written to its cache. Unset: 1.25 times input with Anthropic's protocol (2 times with cache_for = \"1h\"), else the same as input."},
	}
}

func reasoningKeys() []key[Reasoning] {
	return []key[Reasoning]{
		{name: "enabled", at: func(r *Reasoning) any { return &r.Enabled }, example: "true", doc: "true asks for reasoning, false for none."},
		{name: "effort", at: func(r *Reasoning) any { return &r.Effort }, oneOf: reasoningEfforts(), example: `"medium"`, doc: "How hard to think. A model that does not support an effort gets the nearest lower one."},
		{name: "max_tokens", at: func(r *Reasoning) any { return &r.MaxTokens }, example: "4096", doc: "The maximum number of reasoning tokens; instead of effort."},
	}
}

func providerNames() []string { return []string{OpenAI, Responses, Anthropic, Gemini, Scripted} }
func reasoningEfforts() []string {
	return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
}
