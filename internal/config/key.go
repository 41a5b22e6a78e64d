package config

import (
	"slices"
	"strings"
	"time"
)

// key describes one setting. The tables of keys are what the strict reader
// checks against and what the reference is printed from.
type key[T any] struct {
	name    string
	at      func(*T) any  // pointer to the field
	doc     string        // one sentence
	example string        // as TOML; empty: the default shows it
	unit    time.Duration // of a duration written as a number; 0: seconds
	min     float64
	max     float64 // 0: no upper bound
	oneOf   []string
	check   func(v value, at any) string // more to check of the value read into the field; the answer is what is wrong
	// ignored says why a key that is still accepted does nothing; empty: it does
	// something. One that is ignored has a name and no more.
	ignored string
	// inherits names the table that says it for all, where a context says nothing
	// of its own; the top level has none of it.
	inherits string
}

func topKeys() []key[Config] {
	return []key[Config]{
		{name: "lock_heartbeat_seconds", at: func(c *Config) any { return &c.LockHeartbeat }, min: 1, max: 3600,
			doc: "How often a process that owns a context touches its lock; a lock silent for 1.5 times as long is stale. Not allowed in local.toml."},
		{name: "trust", at: func(c *Config) any { return &c.Trust }, example: `["~/src"]`,
			doc: "Folders (with all below them) whose AGENTS.md may enter a prompt, as it is at that moment. In a project fika trust does that better."},
		{name: "nats", at: func(c *Config) any { return &c.NATS }},
		{name: "master", at: func(c *Config) any { return &c.Master }},
		{name: "hub", at: func(c *Config) any { return &c.Hub }},
		{name: "terminal", at: func(c *Config) any { return &c.Terminal }},
		{name: "store", at: func(c *Config) any { return &c.Store }},
		{name: "chat", at: func(c *Config) any { return &c.Chat }},
		{name: "tools", at: func(c *Config) any { return &c.Tools }},
		{name: "guard", at: func(c *Config) any { return &c.Guard }},
		{name: "sandbox", at: func(c *Config) any { return &c.Sandbox }},
		{name: "plugins", at: func(c *Config) any { return &c.Plugins }},
		{name: "mcp", at: func(c *Config) any { return &c.MCP }},
		{name: "agents", at: func(c *Config) any { return &c.Agents }},
		{name: "routing", at: func(c *Config) any { return &c.Routing }},
		{name: "executors", at: func(c *Config) any { return &c.Executors }},
		{name: "models", at: func(c *Config) any { return &c.Models }},
		{name: "bus_members", at: func(c *Config) any { return &c.BusMembers }},
		{name: "budgets", at: func(c *Config) any { return &c.Budgets }},
		{name: "schedules", at: func(c *Config) any { return &c.Schedules }},
	}
}

// limitKeys are limits: of all agents in [chat], of one in its own settings.
func limitKeys[T any](in func(*T) *Limits, inherits string) []key[T] {
	keys := []key[T]{
		{name: "max_depth", at: func(t *T) any { return &in(t).MaxDepth }, doc: "How many answers may follow one on another after a message of yours; 0 is no limit."},
		{name: "max_turns_per_chain", at: func(t *T) any { return &in(t).MaxTurnsPerChain }, doc: "How many turns one message of yours may set off; 0 is no limit."},
		{name: "max_tokens_per_chain", at: func(t *T) any { return &in(t).MaxTokensPerChain }, example: "2000000", doc: "Likewise tokens; 0 is no limit. A turn that comes to it ends before its next model call."},
		{name: "max_cost_per_chain", at: func(t *T) any { return &in(t).MaxCostPerChain }, example: "5.00", doc: "Likewise money, in US dollars; 0 is no limit. Needs models whose prices are known."},
		{name: "max_chain_age", at: func(t *T) any { return &in(t).MaxChainAge }, example: `"6h"`, doc: "Likewise time, from its first turn on; 0 is no limit."},
		{name: "max_echo", at: func(t *T) any { return &in(t).MaxEcho }, doc: "How many messages two agents may exchange in which each only repeats itself (nine tenths of its runs of three words); at least 4, 0 is no limit.",
			check: func(_ value, at any) string {
				if n := *at.(*int); n > 0 && n < 4 {
					return "fewer than 4 messages are too few to tell"
				}
				return ""
			}},
		{name: "max_turns_per_hour", at: func(t *T) any { return &in(t).MaxTurnsPerHour }, example: "60", doc: "How many turns one agent may begin in an hour of the clock, whoever asks; 0 is no limit. What waits for it goes on in the next."},
		{name: "max_tokens_per_hour", at: func(t *T) any { return &in(t).MaxTokensPerHour }, example: "500000", doc: "Likewise tokens; 0 is no limit. A turn that comes to it waits before its next model call."},
	}
	return inheritFrom(keys, inherits)
}

// inheritFrom makes keys say that a table sets them for all; empty: none does.
func inheritFrom[T any](keys []key[T], table string) []key[T] {
	for i := range keys {
		if keys[i].inherits = table; table != "" {
			keys[i].doc = "Of this agent, here or in its local.toml. Unset: that of `[" + table + "]`; see there."
		}
	}
	return keys
}

// BuiltinTools are the tools that fika brings along and an agent has only if its
// tool_permissions say so, or say nothing.
func BuiltinTools() []string {
	return []string{"read", "list", "edit", "create", "bash", "fetch", "recall"}
}

// DefaultTools are those of them that an agent has whose tool_permissions say nothing.
func DefaultTools() []string { return []string{"read", "list"} }

// contextKeys are the keys of [PerContext].
func contextKeys() []key[PerContext] { return append(ownKeys(), inheritedKeys()...) }

// inheritedKeys are those of [PerContext] that tables set for all.
func inheritedKeys() []key[PerContext] {
	return slices.Concat(
		limitKeys(func(c *PerContext) *Limits { return &c.Limits }, "chat"),
		confinementKeys(func(c *PerContext) *Confinement { return &c.Confinement }, "guard"),
		inheritFrom([]key[PerContext]{lendKey(func(c *PerContext) *[]string { return &c.Lend })}, "sandbox"),
		inheritFrom([]key[PerContext]{executorKey(func(c *PerContext) *string { return &c.Executor })}, "tools"),
	)
}

func ownKeys() []key[PerContext] {
	return []key[PerContext]{
		{name: "model", at: func(c *PerContext) any { return &c.Model }, example: `"sonnet"`,
			doc: "The model, by id or nickname. At the top level: the default of every context."},
		{name: "username", at: func(c *PerContext) any { return &c.Username }, check: checkUsername,
			doc: "What you are called in prompts and transcripts."},
		{name: "provider", at: func(c *PerContext) any { return &c.Provider }, oneOf: providerNames(), example: `"openai"`,
			doc: "Speaks to the model in this way, whatever its definition says."},
		{name: "base_url", at: func(c *PerContext) any { return &c.BaseURL }, check: checkURL, example: `"http://127.0.0.1:11434/v1"`,
			doc: "Where the model is reached, whatever its definition says. At the top level: the address of models that have none of their own."},
		{name: "api_key_env", at: func(c *PerContext) any { return &c.APIKeyEnv }, check: checkEnvName, example: `"OPENAI_API_KEY"`,
			doc: "The environment variable that holds the key, whatever the model's definition says."},
		{name: "reasoning", at: func(c *PerContext) any { return &c.Reasoning }, example: `{effort = "medium"}`,
			doc: "How much the model is asked to reason."},
		{name: "max_tokens", at: func(c *PerContext) any { return &c.MaxTokens }, example: "8192",
			doc: "The most tokens of one answer; 0 leaves it to the model's definition."},
		{name: "system_prompt", at: func(c *PerContext) any { return &c.SystemPrompt }, example: `"prompts/coder.md"`,
			doc: "The system prompt: a path (one line that begins with / ./ ../ or ~/, or ends in .md or .txt; relative to the home) or the text itself. A context's system_prompt.md wins."},
		{name: "tool_permissions", at: func(c *PerContext) any { return &c.ToolPermissions }, example: `["read", "list", "edit"]`,
			doc: "The only tools that may run, of " + strings.Join(BuiltinTools(), ", ") + ", those of plugins and those of MCP servers (mcp:NAME for all of one, or NAME__TOOL). Unset: " + strings.Join(DefaultTools(), ", ") + " and every plugin."},
		{name: "tools_off", at: func(c *PerContext) any { return &c.ToolsOff }, example: `["send_message"]`,
			doc: "Takes away tools that are offered whatever tool_permissions says: update_todos, update_goals, update_reflection, send_message, read_context, create_context, delegate."},
		{name: "workspace", at: func(c *PerContext) any { return &c.Workspace }, example: `"~/src/project"`,
			doc: "The folder that file tools cannot leave. `worktree`: a git worktree and a branch of the agent's own, whose work fika agent merge brings to you. Unset: the folder you are in, or for an agent the hub started the project's folder, or contexts/NAME/workspace."},
		{name: "readable_by", at: func(c *PerContext) any { return &c.ReadableBy }, check: checkNames, example: `["reviewer"]`,
			doc: "The agents that may read this context. Unset: every agent of this home; [] is none."},
		{name: "callable_by", at: func(c *PerContext) any { return &c.CallableBy }, check: checkCallers, example: `["user", "reviewer"]`,
			doc: "Who may mention, message or delegate to this agent: names of agents, user for you (and programs that ask for you), * for all. Unset: everybody; [] is nobody."},
		{name: "env", at: func(c *PerContext) any { return &c.Env }, example: `{CGO_ENABLED = "0"}`,
			doc: "Variables put into the environment of the agent's tools."},
		{name: "agents_md", at: func(c *PerContext) any { return &c.AgentsMD },
			doc: "Puts the AGENTS.md files of a trusted workspace into the system prompt."},
		{name: "auto_compact", at: func(c *PerContext) any { return &c.AutoCompact },
			doc: "Compacts a context by itself when it has grown past auto_compact_threshold."},
		{name: "auto_compact_threshold", at: func(c *PerContext) any { return &c.AutoCompactThreshold }, min: 1, max: 100,
			doc: "Percent of the window at which auto_compact acts."},
		{name: "warn_threshold_percent", at: func(c *PerContext) any { return &c.WarnThresholdPercent }, max: 100,
			doc: "Percent of the window from which a warning goes to stderr; 0 never warns."},
		{name: "rolling_compact_drop_percentage", at: func(c *PerContext) any { return &c.RollingCompactDrop }, min: 1, max: 100,
			doc: "How much of the oldest part a rolling compaction folds into the summary, in percent."},
		{name: "context_window_limit", at: func(c *PerContext) any { return &c.ContextWindowLimit }, example: "100000",
			doc: "Tokens of the window; 0 takes the model's own."},
		{name: "max_recursion_depth", at: func(c *PerContext) any { return &c.MaxRecursionDepth }, min: 1, max: 10000,
			doc: "How many model calls one turn may make."},
		{name: "reflection_enabled", at: func(c *PerContext) any { return &c.ReflectionEnabled },
			doc: "Gives the model its lasting notes (contexts/NAME/reflection.md), the tool that writes them, and your notes for all agents (prompts/reflection.md)."},
		{name: "reflection_character_limit", at: func(c *PerContext) any { return &c.ReflectionCharacterLimit },
			doc: "The most characters of that memory."},
		{name: "rules", at: func(c *PerContext) any { return &c.Rules }, example: "[{tool = \"bash\", match = \"git push *\", do = \"ask\"}]",
			doc: "What tools may do, as [[rules]]: those of the home, of the agent and of the context hold together. fika rules test shows what comes of them."},
		{name: "limits", at: func(c *PerContext) any { return &c.Resources }, example: `{memory = "2GiB", cpu = 2, pids = 200}`,
			doc: "What all processes of this agent's tools together may use of the machine, as [agents.limits] under its [[agents]], or [limits] for every agent. It needs control groups that this user may divide: fika doctor says whether there are."},
		{name: "turn_timeout_seconds", at: func(c *PerContext) any { return &c.TurnTimeout }, example: "600",
			doc: "Ends a turn that takes longer; 0 never does."},
	}
}

func natsKeys() []key[NATS] {
	return []key[NATS]{
		{name: "server", at: func(n *NATS) any { return &n.Server }, check: checkNATS, example: `"nats://localhost:4222"`,
			doc: "The NATS server. Unset: the hub runs its own, on loopback. A loopback address where nothing answers is where the hub's own one listens."},
		{name: "timeout_ms", at: func(n *NATS) any { return &n.Timeout }, unit: time.Millisecond, min: 1,
			doc: "How long one call on the bus may take; it never bounds a turn."},
		{name: "reconnect_attempts", ignored: "a lost connection is told of at once and tried again until the server is back"},
		{name: "reconnect_delay_ms", at: func(n *NATS) any { return &n.ReconnectDelay }, unit: time.Millisecond,
			doc: "The pause before a lost connection is tried again; it doubles with each attempt, up to two seconds, until the server is back."},
		{name: "user", at: func(n *NATS) any { return &n.User }, example: `"fika"`, doc: "User name for the server."},
		{name: "password", at: func(n *NATS) any { return &n.Password }, example: `"…"`, doc: "Its password, in plain text; password_env is better."},
		{name: "password_env", at: func(n *NATS) any { return &n.PasswordEnv }, check: checkEnvName, example: `"NATS_PASSWORD"`, doc: "The environment variable that holds the password."},
		{name: "token", at: func(n *NATS) any { return &n.Token }, example: `"…"`, doc: "A token instead of a user, in plain text; token_env is better."},
		{name: "token_env", at: func(n *NATS) any { return &n.TokenEnv }, check: checkEnvName, example: `"NATS_TOKEN"`, doc: "The environment variable that holds the token."},
		{name: "nkey", at: func(n *NATS) any { return &n.NKey }, example: `"~/.nkeys/fika.nk"`, doc: "Path of an nkey seed file."},
		{name: "creds", at: func(n *NATS) any { return &n.Creds }, example: `"~/fika.creds"`, doc: "Path of a credentials file."},
		{name: "tls", at: func(n *NATS) any { return &n.TLS }, doc: "Certificates."},
		{name: "subject_prefix", at: func(n *NATS) any { return &n.SubjectPrefix }, check: checkPrefix,
			doc: "What every subject begins with. One store per prefix."},
		{name: "request_tools", at: func(n *NATS) any { return &n.RequestTools }, example: `["read", "list", "fetch"]`,
			doc: "What requests of other programs that come by your own server may make an agent do at most, because nobody can tell who publishes there, and so [[bus_members]] says nothing about them; * is all that the agent may. Requests by the hub's server need the credential that fika made for your programs, and have the agent's own rights, or that of a member."},
		{name: "port", at: func(n *NATS) any { return &n.Port }, max: 65535, example: "4222",
			doc: "Port of the hub's own server; 0 chooses one once and keeps it."},
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
		{name: "heartbeat_check_interval", at: func(m *Master) any { return &m.HeartbeatCheckInterval }, min: 1, doc: "How often the master console looks at the health of agents; it does so at least every five seconds."},
	}
}

func hubKeys() []key[Hub] {
	return []key[Hub]{
		{name: "autostart", at: func(h *Hub) any { return &h.Autostart }, doc: "Commands that need the hub start it in the background."},
		{name: "max_idle_seconds", at: func(h *Hub) any { return &h.MaxIdle },
			doc: "When the hub of a project ends, having had nothing to do: no work that goes on or waits, no agent with auto_start, nobody who follows it; 0: never. That of a home without a project stays."},
	}
}

func terminalKeys() []key[Terminal] {
	return []key[Terminal]{
		{name: "markdown", at: func(t *Terminal) any { return &t.Markdown }, doc: "Shows what agents say on a terminal as rendered Markdown, block by block, with their tool calls; false shows it as it was written. Elsewhere it is always as it was written."},
		{name: "notify", at: func(t *Terminal) any { return &t.Notify }, doc: "Lets a session and a joined chat set the terminal's title, and send it a notification (OSC 9) and a bell when work of ten seconds or more is done or a tool call waits for your word. Never with NO_COLOR or on a dumb terminal."},
	}
}

func routingKeys() []key[Routing] {
	return []key[Routing]{
		{name: "model", at: func(r *Routing) any { return &r.Model }, example: `"haiku"`, doc: "The model, by id or nickname, that judges which agent a prompt is for where fika route is not sure: for fika route, auto and @auto. It is sent the prompt and what the entries of the agents say. Unset: no model is asked."},
	}
}

func storeKeys() []key[Store] {
	return []key[Store]{
		{name: "url", at: func(s *Store) any { return &s.URL }, check: checkStore, doc: "Address of a PostgreSQL database, as in postgres://user@host/name?search_path=schema; empty: fika.db in the home. fika store move copies what is there."},
		{name: "backups", at: func(s *Store) any { return &s.Backups }, doc: "How many backups the hub keeps in backups/ of the home: it makes one a day. 0 makes none."},
	}
}

func chatKeys() []key[Chat] {
	return append(limitKeys(func(c *Chat) *Limits { return &c.Limits }, ""),
		key[Chat]{name: "message_ttl", at: func(c *Chat) any { return &c.MessageTTL }, example: `"90d"`, doc: "How long messages are kept; 0 is for ever. Pinned ones stay."})
}

func toolKeys() []key[Tools] {
	return []key[Tools]{
		{name: "timeout_seconds", at: func(t *Tools) any { return &t.Timeout }, min: 1, doc: "How long one tool call may take."},
		{name: "allow_private_fetch", at: func(t *Tools) any { return &t.AllowPrivateFetch }, doc: "Lets fetch reach private and loopback addresses."},
		{name: "max_output_bytes", at: func(t *Tools) any { return &t.MaxOutputBytes }, min: 1024, doc: "How much of one result the model sees; the whole is kept in a file."},
		{name: "max_spool_bytes", at: func(t *Tools) any { return &t.MaxSpoolBytes }, min: 1024, doc: "How much of one result that file may hold. Such files are removed after 30 days, or when those of one context come to more than 1 GiB."},
		{name: "max_fetch_bytes", at: func(t *Tools) any { return &t.MaxFetchBytes }, min: 1024, doc: "How much one fetch may load."},
		{name: "delegate_deadline_seconds", at: func(t *Tools) any { return &t.DelegateDeadline }, min: 1, doc: "How long a task may take that an agent delegates without saying how long."},
		{name: "max_delegate_deadline_seconds", at: func(t *Tools) any { return &t.MaxDelegateDeadline }, min: 1, doc: "How long it may say."},
		executorKey(func(t *Tools) *string { return &t.Executor }),
	}
}

func pluginKeys() []key[Plugin] {
	return []key[Plugin]{
		{name: "env", at: func(p *Plugin) any { return &p.Env }, example: `["GITHUB_TOKEN"]`, doc: "Names of environment variables that the plugin gets beside the usual few."},
		{name: "timeout_seconds", at: func(p *Plugin) any { return &p.Timeout }, example: "60", doc: "How long one call of it may take; 0 takes what the plugin asks for, else a minute (30 seconds for a hook)."},
		{name: "stdin", at: func(p *Plugin) any { return &p.Stdin }, oneOf: []string{"terminal", "json"}, example: `"json"`, doc: "What it reads on stdin when somebody is at a terminal: the terminal, or its arguments as JSON (which it gets anyway when nobody is)."},
		{name: "access", at: func(p *Plugin) any { return &p.Access }, oneOf: []string{"own", "home"}, example: `"home"`, doc: "What of fika it can reach: its own files, or, with home, everything that fika itself can, the network included. For plugins that start fika."},
		{name: "disabled", at: func(p *Plugin) any { return &p.Disabled }, doc: "Leaves the plugin where it is, unused."},
	}
}

func agentKeys() []key[Agent] {
	return []key[Agent]{
		{name: "id", at: func(a *Agent) any { return &a.ID }, check: checkName, example: `"coder"`, doc: "The agent's name, as in @coder: 1 to 32 of a-z 0-9 _ -. Required."},
		{name: "name", at: func(a *Agent) any { return &a.Name }, example: `"Code Expert"`, doc: "What people call it; fika agent list --json shows it."},
		{name: "description", at: func(a *Agent) any { return &a.Description }, example: `"Writes and debugs code"`, doc: "What it is for. Its beginning (40 characters) stands in the prompts of agents that can reach it and in errors about unknown names; fika agent list and the completion of names show it."},
		{name: "capabilities", at: func(a *Agent) any { return &a.Capabilities }, example: `["coding", "testing"]`, doc: "What it is good at, in single words: shown to other agents and by fika agent list; fika route goes by them, and so do steps of workflows that name one instead of an agent."},
		{name: "examples", at: func(a *Agent) any { return &a.Examples }, example: `["is this diff safe to merge?"]`, doc: "Prompts that are for it, as people write them: fika route and auto go by them, besides its name, description and capabilities."},
		{name: "models", at: func(a *Agent) any { return &a.Models }, example: `["haiku", "opus"]`, doc: "Several models instead of one model, by id or nickname: the first is used unless model_rules or escalate say otherwise. Within a turn no earlier one comes back."},
		{name: "model_rules", at: func(a *Agent) any { return &a.ModelRules }, example: `[{tokens = 20000, use = "opus"}]`, doc: "When a later of models is used: of all rules that hold, the one that names the latest counts."},
		{name: "escalate", at: func(a *Agent) any { return &a.Escalate }, max: 100, example: "2", doc: "After how many failed rounds in a row the next of models is asked: rounds in which every tool call failed, answers that are not in the form asked for, empty answers, and earlier attempts at the same work; 0 is never."},
		{name: "auto_start", at: func(a *Agent) any { return &a.AutoStart }, doc: "The hub starts it when the hub starts."},
		{name: "persistent", at: func(a *Agent) any { return &a.Persistent }, doc: "It keeps running when idle."},
		{name: "wake", at: func(a *Agent) any { return &a.Wake }, doc: "The hub starts it when work waits for it."},
		{name: "max_idle_seconds", at: func(a *Agent) any { return &a.MaxIdle }, doc: "When one that is not persistent ends, having had nothing to do."},
		{name: "max_concurrent", at: func(a *Agent) any { return &a.MaxConcurrent }, min: 1, max: 64, doc: "How many turns it may run at once."},
		{name: "instances", at: func(a *Agent) any { return &a.Instances }, min: 1, max: MaxInstances, example: "4", doc: "Makes it a pool of so many members, coder-1 to coder-4, each with a context, a process and limits of its own: what is asked of the pool is worked by whoever is free. Unset: one agent. See POOLS.md."},
		{name: "backup", at: func(a *Agent) any { return &a.Backup }, check: checkNames, example: `["reviewer"]`, doc: "Who works what is asked of it while it has failed or has no budget: the first of these that can. Only what nobody has begun is handed over, and it stays there. See POOLS.md."},
	}
}

func modelKeys() []key[Model] {
	return []key[Model]{
		{name: "id", at: func(m *Model) any { return &m.ID }, example: `"claude-sonnet-5-5"`, doc: "What the model is called here. Required."},
		{name: "nickname", at: func(m *Model) any { return &m.Nickname }, example: `"sonnet"`, doc: "A shorter name for it."},
		{name: "provider", at: func(m *Model) any { return &m.Provider }, oneOf: providerNames(), example: `"anthropic"`, doc: "How it is spoken to. Unset: guessed from base_url."},
		{name: "base_url", at: func(m *Model) any { return &m.BaseURL }, check: checkURL, example: `"https://api.anthropic.com/v1"`, doc: "Where it is reached. Unset: OPENAI_BASE_URL, OPENAI_API_BASE or ANTHROPIC_BASE_URL of the environment, else the provider's own address, told from the id."},
		{name: "api_key_env", at: func(m *Model) any { return &m.APIKeyEnv }, check: checkEnvName, example: `"ANTHROPIC_API_KEY"`, doc: "The environment variable that holds the key. Unset: the provider's usual one; none on loopback."},
		{name: "insecure", at: func(m *Model) any { return &m.Insecure }, example: "true", doc: "Lets the key go over plain http to another machine, where others can read it; without this it is refused."},
		{name: "model", at: func(m *Model) any { return &m.WireModel }, example: `"claude-sonnet-5-5"`, doc: "What the provider calls it, if not by the id."},
		{name: "context_window", at: func(m *Model) any { return &m.ContextWindow }, example: "200000", doc: "Tokens it can read; unset counts as 128000."},
		{name: "max_tokens", at: func(m *Model) any { return &m.MaxTokens }, example: "8192", doc: "The most tokens of one answer; unset leaves it to the provider."},
		{name: "prices", at: func(m *Model) any { return &m.Prices }, example: "{input = 3.0, output = 15.0, cached = 0.3}", doc: "US dollars per million tokens, instead of those that fika knows. A model that costs nothing has {input = 0, output = 0}."},
		{name: "reserve", at: func(m *Model) any { return &m.Reserve }, example: "{input = 20000, output = 4000}", doc: "Tokens that budgets set aside for a call before it is made; later calls of a turn set aside at least what the dearest before has used."},
		{name: "reasoning", at: func(m *Model) any { return &m.Reasoning }, example: `{effort = "medium"}`, doc: "How much it is asked to reason."},
		{name: "images", at: func(m *Model) any { return &m.Images }, oneOf: []string{ImagesSent, ImagesAsText, ImagesRefused}, example: `"text"`, doc: "What becomes of pictures in a prompt: the model is sent them (send, also when unset), reads the line that tells of them (text), or the request fails (refuse)."},
		{name: "rules", at: func(m *Model) any { return &m.Rules }, example: `"rules.toml"`, doc: "Of a scripted model: the file of its answers, relative to the home."},
	}
}

func priceKeys() []key[Prices] {
	return []key[Prices]{
		{name: "input", at: func(p *Prices) any { return &p.Input }, example: "3.0", doc: "Of what it reads."},
		{name: "output", at: func(p *Prices) any { return &p.Output }, example: "15.0", doc: "Of what it writes, reasoning included."},
		{name: "cached", at: func(p *Prices) any { return &p.Cached }, example: "0.3", doc: "Of what it reads from its cache. Unset: as input."},
	}
}

func reasoningKeys() []key[Reasoning] {
	return []key[Reasoning]{
		{name: "enabled", at: func(r *Reasoning) any { return &r.Enabled }, example: "true", doc: "Asks for reasoning, or with false for none."},
		{name: "effort", at: func(r *Reasoning) any { return &r.Effort }, oneOf: reasoningEfforts(), example: `"medium"`, doc: "How hard to think. A model that does not know an effort gets the nearest one below it."},
		{name: "max_tokens", at: func(r *Reasoning) any { return &r.MaxTokens }, example: "4096", doc: "The most tokens of reasoning; instead of effort."},
	}
}

func providerNames() []string { return []string{OpenAI, Anthropic, Scripted} }
func reasoningEfforts() []string {
	return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
}
