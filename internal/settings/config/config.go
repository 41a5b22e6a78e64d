package config

import (
	"time"

	"fika/internal/llm/catalog"
	"fika/internal/rights/guard"
)

// Config is everything that the files of a home say, checked. [Load] and [LoadHome]
// return one; after that it is not changed, and is safe for concurrent use.
type Config struct {
	// PerContext holds the top level of config.toml: the settings of every context
	// unless its own files say otherwise.
	PerContext

	UpdateURL     string        // where fika update --check asks
	LockHeartbeat time.Duration // how often a held lock is touched
	Trust         []string      // folders whose AGENTS.md may enter a prompt

	NATS      NATS
	Master    Master
	Hub       Hub
	Web       Web
	Doors     Doors
	Terminal  Terminal
	Store     Store
	Keep      Keep
	Chat      Chat
	Board     Board
	Landing   Landing
	Answer    Answer
	Tools     Tools
	Guard     Guard
	Sandbox   Sandbox
	Plugins   map[string]Plugin // by plugin name
	MCP       []MCPServer
	Agents    []Agent
	Executors []Executor
	Routing   Routing
	Models    []Model
	Budgets   []Budget
	Schedules []Schedule
	Webhooks  []Webhook
	OTLP      OTLP
	OnDemand  map[string]OnDemand // by the names of hosts
	// BusMembers are programs that are not fika and may ask agents over the hub's own
	// server, with fewer rights than the person's programs.
	BusMembers []BusMember

	// Files lists the files that were read, in order; missing files are not listed.
	Files []string

	where map[string]Place
	gone  []string       // see [Config.Notes]
	known *catalog.Table // of models, by their makers

	texts []fileText // the texts it was read from, for [Config.KeepCopy]
}

// WhereSet returns where a key was set, as in "nats.server" or "agents[0].model". The
// second result is false if no file sets the key.
func (c *Config) WhereSet(key string) (Place, bool) {
	p, ok := c.where[key]
	return p, ok
}

// PerContext are the settings that each context may have for itself. They may stand at
// the top level of config.toml (for all), in an [[agents]] entry, and in
// contexts/NAME/local.toml; the last of these that sets a key wins.
type PerContext struct {
	Model     string // id or nickname
	Username  string // the person's name
	Provider  string // replaces the model's own; so do the next three
	BaseURL   string
	APIKeyEnv string
	Reasoning *Reasoning // nil: the model's own
	MaxTokens int64      // in one answer; 0: the model's own

	SystemPrompt    string   // a path or the text itself
	ToolPermissions []string // nil: read, list and every plugin
	ToolsOff        []string // among the tools that are otherwise always offered
	Skills          []string // names of skills that may be used; * for all; nil: none
	Workspace       string   // root of file tools; empty: the caller decides
	ReadableBy      []string // agents that may read this context; nil: all of this home
	CallableBy      []string // who may ask this agent; nil: everybody
	Env             map[string]string
	AgentsMD        bool

	AutoCompact              bool
	AutoCompactThreshold     float64 // percent of the window
	WarnThresholdPercent     float64
	RollingCompactDrop       float64 // percent of the oldest entries
	ContextWindowLimit       int64   // tokens; 0: the model's window
	MaxRecursionDepth        int
	ReflectionEnabled        bool
	ReflectionCharacterLimit int
	TurnTimeout              time.Duration // of a whole turn; 0: none
	Patience                 time.Duration // with a provider that fails, while somebody waits
	PatienceBackground       time.Duration // while nobody does

	Limits               // of this agent; unset ones are [Chat]'s
	Confinement          // of this agent; unset ones are [Guard]'s
	Lend        []string // hidden from tools, yet readable; unset: [Sandbox]'s
	Hosts       []string // reached without the network; unset: [Sandbox]'s

	Executor  string    // that runs its tools; unset: [Tools]'s
	Resources Resources // the most that its tools may use of the machine

	Rules []guard.Rule // rules of all layers apply
}

// Resources bound what all processes of an agent's tools together may use of the
// machine. 0 means no limit.
type Resources struct {
	Memory   Bytes
	CPU      float64 // processors
	PIDs     int64   // processes and threads
	Required bool    // nothing is run if they cannot be enforced
}

// Bytes is an amount of memory.
type Bytes int64

// Confinement says how the processes of an agent's tools are confined.
type Confinement struct {
	SandboxMode string // "best", "required" or "off"
	Network     string // "on" or "off"
	Rights      string // of work that another agent has caused: "own" or "least"
	Taint       string // effect of text from outside: "tighten", "offline" or "allow"
}

// Guard says what tools may do.
type Guard struct {
	Confinement                   // of all agents without their own
	Default         string        // for calls that no rule is about
	ApprovalTimeout time.Duration // after which a call that was asked about is denied
	Rules           []guard.Rule  // only in [Settings]: the rules of all layers
	CallableBy      []string      // only in [Settings]: who may ask this agent; nil: everybody
}

// What confined processes see of people's home folders.
const (
	HomeHidden   = "hidden"   // what is named
	HomeReadable = "readable" // everything but the secrets that are known by name
)

// Sandbox adds to what confined processes can touch, or takes from it.
type Sandbox struct {
	Home    string   // [HomeHidden] or [HomeReadable]
	Write   []string // paths that can be written besides the workspace
	Hide    []string // paths that appear empty
	Lend    []string // hidden paths that can be read; "ssh-agent" is its socket, and see [guard.CredentialFiles]
	Sockets []string // Unix sockets that can be reached
	Hosts   []string // hosts that can be reached without the network; see address.ParseHost
}

// Limits bound chains of messages, and an agent. 0 means no limit.
type Limits struct {
	MaxDepth          int
	MaxTurnsPerChain  int
	MaxTokensPerChain int64
	MaxCostPerChain   MicroDollars
	MaxChainAge       time.Duration
	MaxEcho           int
	MaxTurnsPerHour   int
	MaxTokensPerHour  int64
}

// NATS says how to reach the bus.
type NATS struct {
	Server         string
	Timeout        time.Duration // of one bus call, never of a turn
	ReconnectDelay time.Duration // before the first attempt; grows with each attempt
	// ReconnectAttempts is how many times a command tries to reach the bus.
	ReconnectAttempts int
	User              string
	Password          string
	PasswordEnv       string
	Token             string
	TokenEnv          string
	NKey              string // path of a seed file
	Creds             string // path of a credentials file
	TLS               TLS
	SubjectPrefix     string
	RequestTools      []string // for requests over an external server
	Port              int      // of the embedded server; 0: chosen once and kept
}

// TLS names certificate files; all paths.
type TLS struct {
	CA   string
	Cert string
	Key  string
}

// Master are the settings of the master console.
type Master struct {
	Enabled                bool
	DefaultAgent           string
	AutoStartAgents        bool
	HeartbeatCheckInterval time.Duration // how often the console checks its agents
}

// Hub are the settings of the hub.
type Hub struct {
	Autostart bool          // commands that need the hub start it
	MaxIdle   time.Duration // how long it stays without anything to do; 0: for ever
}

// Web are the settings of the page.
type Web struct {
	Listen string // a loopback address with a port; empty: only when asked for
}

// Doors says by which doors programs of this machine come in, each with a token.
type Doors struct {
	Metrics bool // /metrics, for Prometheus
	MCP     bool // /mcp, for other agent programs
}

// Any reports whether some door is open.
func (d Doors) Any() bool { return d.Metrics || d.MCP }

// Terminal are the settings of what a person sees.
type Terminal struct {
	Markdown bool // answers are shown rendered
	Notify   bool // sessions notify the terminal when work is done or a person is asked
}

// Routing says how the agent for a prompt is chosen if ranking is not sure.
type Routing struct {
	Model string // id or nickname of the model that decides then; empty: none
}

// Store says where the database is.
type Store struct {
	URL     string // empty: fika.db in the home
	Backups int    // number of daily backups that the hub keeps
}

// Chat are the settings of conversations among agents.
type Chat struct {
	Limits                   // of all agents without their own
	MessageTTL time.Duration // 0: messages do not expire
}

// Board are the settings of the board.
type Board struct {
	Patience time.Duration // with an agent that is gone while it has a task
	Tainted  string        // what becomes of tasks that turns add that have read text from outside
}

// The treatments of tasks that a turn adds that has read text from outside.
const (
	TaskAsks  = "ask"   // they wait for a person
	TaskOpens = "allow" // they are open
)

// Landing says how work lands on a branch of the project.
type Landing struct {
	MaxRounds int      // how often an offer comes back to its agent
	Reviewers []string // agents that look at what others offer before it lands
	Into      string
	Check     string // a command; empty: nothing lands
	Strategy  string
	Timeout   time.Duration // of the check
	Mode      string        // one of the Push constants
	Remote    string        // to which it is pushed
	After     string        // a command that runs after a push; empty: none
}

// Where what has landed goes.
const (
	PushLocal  = "local" // nowhere
	PushRemote = "push"  // to a remote, too
)

// The ways in which work is put on a branch.
const (
	LandRebase = "rebase"
	LandMerge  = "merge"
	LandSquash = "squash"
)

// Answer bounds one answer of a model, so that a broken server cannot flood a turn.
type Answer struct {
	MaxToolCalls int
	MaxBytes     int64         // of text and reasoning
	MaxSilent    time.Duration // in which only signs of life come
	MaxTime      time.Duration
}

// Tools are settings of all tools.
type Tools struct {
	Timeout           time.Duration // of one call
	AllowPrivateFetch bool          // fetch may reach private and loopback addresses
	MaxOutputBytes    int64         // of one result shown to the model; the rest is spooled
	MaxSpoolBytes     int64         // of one result kept on disk
	MaxFetchBytes     int64
	SearchAbove       int           // tools of MCP servers; 0: all are in each request
	ServerIdle        time.Duration // 0: servers are kept until the process ends
	GuestIdle         time.Duration // 0: programs end with their turn

	DelegateDeadline    time.Duration // of a delegated task without one
	MaxDelegateDeadline time.Duration

	Executor string // that runs them; empty: the agents do
}

// Plugin are the settings of one plugin.
type Plugin struct {
	Env      []string // names of variables it gets besides the usual ones
	Timeout  time.Duration
	Stdin    string // "json": always the arguments; else the terminal, if there is one
	Access   string // "home": it may use fika itself
	Disabled bool
}

// Agent is one [[agents]] entry: a worker the hub may start.
type Agent struct {
	PerContext

	ID           string // lower case, checked
	Name         string // for people
	Description  string
	Capabilities []string
	Examples     []string // prompts that it is meant for

	Engine  string   // what works its turns: empty for a model, or [EngineACP]
	Command []string // of a program that does: the program and its arguments
	Billing string   // of a program that does: [Subscription] or [Free], empty for money
	Prices  Prices   // of a program that tells its tokens and not what it costs; zero: not known

	Models     []string // ids or nicknames, from the first to the last resort; nil: only Model
	ModelRules []ModelRule
	Escalate   int // failed rounds in a row after which the next of Models is called

	AutoStart     bool
	Persistent    bool
	Wake          bool          // the hub starts it for waiting work
	MaxIdle       time.Duration // if it is not persistent; 0: the hub's choice
	MaxConcurrent int

	Board    bool // it takes tasks of the board
	BoardMax int  // tasks at once

	Instances int      // of a pool: number of members; 0: not a pool
	Places    int      // of a pool over several hosts: members on this one; 0: it is on one host
	Pool      string   // of a member: the id of its pool, whose entry it shares
	Backup    []string // stand-ins for what it cannot work; the first able one takes over
	RunOn     []string // names and labels of hosts on which it may run, or with ! before them may not; nil: any

	WorkspaceOn string // OnHost, OnShared or OnGit; empty: OnHost
}

// The providers.
const (
	OpenAI    = "openai"           // any OpenAI-compatible chat completions
	Responses = "openai-responses" // OpenAI's newer protocol
	Anthropic = "anthropic"
	Gemini    = "gemini"
	Scripted  = "scripted" // answers from a rules file
)

// Model is one [[models]] entry, or a model derived from what is known.
type Model struct {
	ID            string
	Nickname      string
	Provider      string // OpenAI, Anthropic or Scripted; never empty after Resolve
	BaseURL       string
	BaseURLFrom   string   // the environment variable that set it; empty: a file, or the provider's own address
	APIKeyEnv     string   // name of the variable that holds the key; empty: none needed
	Headers       []string // sent with each call, as "NAME: VALUE"; see [HeaderEnv]
	Insecure      bool     // the key may be sent over plain http to another machine
	WireModel     string   // the provider's name for it; equals ID unless the file says otherwise
	ContextWindow int64    // tokens; 0: unknown
	MaxTokens     int64    // of one answer, as a person limits it; 0: they do not
	MaxOutput     int64    // the most that the model can write; 0: unknown
	Known         string   // source of what is known of it besides the file: a page, and the day it was read; empty: nothing
	Prices        Prices
	Priced        string // source of the prices: "config", or as Known; empty: none known
	Reserve       *Reserve
	Reasoning     *Reasoning
	CacheControl  bool   // a gateway to Claude is told what to cache
	CacheFor      string // how long Claude caches it: "5m", "1h"; empty: 5m
	Images        string // treatment of pictures: one of the Images constants; empty: [ImagesSent]
	Rules         string // of a scripted model: path of its rules
}

// The treatments of pictures in a prompt.
const (
	ImagesSent    = "send"
	ImagesAsText  = "text"
	ImagesRefused = "refuse"
)

// Prices are US dollars per million tokens. Cached equals Input unless the file says
// otherwise.
type Prices = catalog.Prices

// Reserve is how many tokens budgets set aside for a call of a model.
type Reserve struct {
	Input  int64
	Output int64
}

// Budget is one [[budgets]] entry: what may be spent in a period. 0 means no limit; at
// least one of Money and Tokens is set.
type Budget struct {
	Scope  string // "home", "user", "chain", "agent:NAME", "chat:NAME"
	Per    string // "hour", "day", "month", "total"
	Money  MicroDollars
	Tokens int64

	at Place
}

// Reasoning asks a model for reasoning. At most one of Effort and MaxTokens is set;
// Enabled alone asks for the provider's default.
type Reasoning struct {
	Enabled   bool
	Effort    string
	MaxTokens int64
}

// MicroDollars is money in millionths of a US dollar.
type MicroDollars int64
