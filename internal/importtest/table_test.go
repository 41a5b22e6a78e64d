package importtest

// row says what one package may import, beyond the standard library, and why
// that is right. "." is the module root, the nouns.
type row struct {
	pkg string
	may string
	why string
}

// packages are all rows, from the ground up.
var packages = [...]row{
	// The nouns.
	{".", "", "everything talks in the nouns, so they know nobody and need the standard library only"},

	{"internal/spelling", "", "how far two words are apart: every layer says what was probably meant"},
	{"internal/toml", ". internal/spelling github.com/pelletier/go-toml/v2/unstable", "what people write in TOML, with the place of every mistake; it opens no file"},
	{"internal/address", "", "which hosts are this machine: whoever sends a key or a password asks"},
	{"internal/clock", "", "one sleep that a context ends, for everybody who waits"},
	{"internal/process", ". internal/clock golang.org/x/sys/unix", "one answer to which process is which and whether it runs, and one sort of file lock; signals, pidfd, sysctl and flock are the system's"},
	{"internal/cgroup", ". internal/clock internal/process golang.org/x/sys/unix", "control groups of the kernel: files under one folder; which process has made a group, and whether it lives, is for process to say"},
	{"internal/caller", ".", "who is asking: identities of processes against each other, and names; what they are comes in as values"},
	{"internal/limit", ".", "when a chain, an agent's hour or an exchange has come to its end: facts in, verdict and notice out; the store writes it in the transaction it is about"},
	{"internal/speech", "", "several speakers in one text: prompts, summaries and transcripts set them apart alike"},
	{"internal/redact", "", "known keys are taken out of texts wherever one is kept or shown"},
	{"internal/safetext", "", "what could drive a terminal is taken out of texts wherever one is stored or shown"},
	{"internal/crash", "", "moments at which a harness ends the program; empty in ordinary builds"},

	// Contracts: interfaces and values. They know the nouns.
	{"internal/bus", ".", "the contract of the bell, and its subjects"},
	{"internal/llm", ".", "the contract of language models"},
	{"internal/tool", ". internal/redact internal/safetext internal/spelling", "the contract of tools, with what every tool needs and no technology"},
	{"internal/hook", "", "the contract of hooks: names and payloads"},
	{"internal/message", ".", "the JSON bodies of the bus"},

	// Decisions: what is to be done, in terms of contracts.
	{"internal/mention", ". internal/spelling github.com/yuin/goldmark/ast github.com/yuin/goldmark/parser github.com/yuin/goldmark/text github.com/yuin/goldmark/util",
		"who is meant by a text; what is code, a link or a quote is for a Markdown parser to say"},
	{"internal/route", ".", "which agent fits a prompt: texts against texts, and a vocabulary"},
	{"internal/schedule", "internal/spelling", "when a cron expression comes: text against the clocks of zones"},
	{"internal/colleague", ". internal/speech", "who may be asked, in words: prompts and errors say it alike"},
	{"internal/chat", ". internal/colleague internal/limit internal/mention internal/store", "who is told of a message: mentions and rows; a letter that only repeats is not sent"},
	{"internal/prompt", ". internal/hook internal/speech internal/store", "puts the system prompt together; hooks may add to it"},
	{"internal/trace", ". internal/store", "spans of time out of rows: what took how long, and what it cost"},
	{"internal/reading", ". internal/store", "who may read what of another agent: one rule for tools, commands and the bus; rows come from the store"},
	{"internal/guard", ". mvdan.cc/sh/v3/syntax", "what a tool may do: rules against calls, names against names; what a shell text runs is for a shell's parser to say"},
	{"internal/turn", ". internal/clock internal/guard internal/hook internal/limit internal/llm internal/speech internal/store internal/tool golang.org/x/sync/errgroup",
		"the turn speaks to four contracts, looks now and then for what an executor has made of a call, and stops an exchange that repeats itself; errgroup joins tool calls that run side by side"},
	{"internal/approval", ". internal/guard internal/tool internal/turn", "what rules say of a tool call as the turn wants to know it, and what an answer is bound to"},
	{"internal/compaction", ". internal/hook internal/llm internal/speech internal/store internal/turn", "what of a conversation is summarised: the turn's messages, a model, rows"},
	{"internal/workflow", ". internal/speech internal/spelling internal/toml github.com/expr-lang/expr github.com/expr-lang/expr/ast github.com/expr-lang/expr/conf github.com/expr-lang/expr/file github.com/expr-lang/expr/parser github.com/expr-lang/expr/vm github.com/google/jsonschema-go/jsonschema",
		"what a definition says and what comes next in a run: TOML, conditions and schemas are for their parsers to say"},
	{"internal/flow", ". internal/message internal/store internal/workflow", "what comes next in a run is the workflow's to say and the store's to keep; what has happened is a body on a subject"},
	{"internal/outcome", ". internal/bus internal/message internal/store", "an outcome is a row that becomes a body on a subject"},

	// Technologies: each knows its contract and its library, not its neighbours.
	{"internal/store", ". internal/clock internal/crash internal/limit internal/workflow github.com/gofrs/flock github.com/google/uuid github.com/jackc/pgx/v5 github.com/jackc/pgx/v5/pgconn github.com/jackc/pgx/v5/pgxpool github.com/pressly/goose/v3 golang.org/x/sys/unix golang.org/x/text/unicode/norm modernc.org/sqlite modernc.org/sqlite/lib",
		"SQL: two drivers, migrations under a lock, ids, words without accents, and statfs to refuse network file systems"},
	{"internal/bus/nats", ". internal/address internal/bus internal/crash github.com/google/renameio/v2 github.com/nats-io/nats-server/v2/server github.com/nats-io/nats.go github.com/nats-io/nats.go/jetstream",
		"NATS: the embedded server, the client, the stream; run/hub.json is replaced in one step"},
	{"internal/llm/wire", ". internal/address internal/llm", "HTTP and server-sent events, as both providers need them"},
	{"internal/llm/openai", ". internal/llm internal/llm/wire", "chat completions"},
	{"internal/llm/anthropic", ". internal/llm internal/llm/wire", "messages"},
	{"internal/llm/scripted", ". internal/clock internal/llm github.com/pelletier/go-toml/v2 github.com/pelletier/go-toml/v2/unstable",
		"answers from a rules file in TOML; the unstable parser gives the place of a mistake"},
	{"internal/llm/redacted", "internal/llm internal/redact", "a decorator of any model: keys are taken out of what it says"},
	{"internal/llm/retry", ". internal/clock internal/llm", "decorators of any model: retry, idle time, cap, cost"},
	{"internal/tool/proc", ". internal/crash internal/process internal/tool", "processes in groups, ended with their owner"},
	{"internal/sandbox", ". internal/sandbox/child golang.org/x/net/bpf golang.org/x/sys/unix", "namespaces, Landlock, a filter of system calls in the kernel's own instructions"},
	{"internal/sandbox/child", ". golang.org/x/sys/unix", "programs of system calls, whose last one executes a tool: writes an executable into a file in memory"},
	{"internal/confine", ". internal/cgroup internal/git internal/guard internal/process internal/sandbox internal/tool", "the guard's paths and a person's settings become the sandbox of a call: between the policy, the mechanism and the contract that tools know"},
	{"internal/tool/file", ". internal/guard internal/tool", "file tools, inside a workspace, and what is out of reach of them"},
	{"internal/tool/shell", ". internal/process internal/tool internal/tool/proc", "bash is a process in a group"},
	{"internal/git", ".", "git for fika itself, which starts nothing else; a technology of its own"},
	{"internal/tool/web", ". internal/safetext internal/tool", "fetch"},
	{"internal/tool/note", ". internal/tool", "todos, goals and reflection; the files come in as functions"},
	{"internal/tool/peer", ". internal/hook internal/reading internal/store internal/tool github.com/google/uuid",
		"messages and tasks for other agents are rows with ids of their own; a hook may look at them, and what is read of them is for one rule to say"},
	{"internal/tool/recall", ". internal/store internal/tool", "what is found in an agent's past are rows; which of them belong to it comes in as a function"},
	{"internal/plugin", ". internal/hook internal/process internal/safetext internal/tool internal/tool/proc github.com/google/renameio/v2",
		"executables as tools and hooks, in process groups; the cache of schemas is replaced in one step"},
	{"internal/mcp", ". internal/process internal/safetext internal/tool github.com/google/renameio/v2 github.com/modelcontextprotocol/go-sdk/jsonrpc github.com/modelcontextprotocol/go-sdk/mcp",
		"tools of MCP servers, which are processes here or remote; the protocol is the library's; what a server says is kept in files that are replaced in one step"},
	{"internal/folder", ". internal/clock internal/crash internal/process internal/safetext internal/speech github.com/google/renameio/v2 github.com/google/uuid golang.org/x/sys/unix",
		"files: replaced in one step, locked (process), the home has an id; whether one may write is asked of the kernel"},
	{"internal/config", ". internal/address internal/guard internal/limit internal/schedule internal/spelling internal/toml github.com/google/renameio/v2 github.com/pelletier/go-toml/v2/unstable go.yaml.in/yaml/v3",
		"settings out of TOML, and of YAML where an agent is a Markdown file; the editor looks for the bytes of one key; edited files are replaced in one step"},
	{"internal/diff", "", "texts compared line by line: projects and changes are shown alike"},
	{"internal/undo", ". internal/process", "what agents changed, and what was there: files of the home under a lock (process); those of the workspace come in as an interface"},
	{"internal/project", ". internal/diff github.com/google/renameio/v2", "which project a folder is in, and the copy of its files that a person agreed to; what is agreed to is named in one step"},
	{"internal/worktree", ". internal/git", "a working tree of git for each agent: what is in it, and how it comes to the person"},
	{"internal/attachment", ". github.com/google/renameio/v2", "pictures of messages by their hash, and the files that a person names; a picture is there in one step"},
	{"internal/template", ". internal/spelling", "texts of agents to start from; a misspelt one is found"},
	{"internal/keyfile", ". internal/clock internal/process github.com/google/renameio/v2", "keys in a file, replaced in one step under a lock"},
	{"internal/config/migrate", ". internal/config github.com/pelletier/go-toml/v2", "older settings become a config.toml, checked as any other"},
	{"internal/term", "internal/safetext github.com/charmbracelet/x/ansi golang.org/x/sys/unix golang.org/x/term", "streams, width and cleaning of a terminal"},
	{"internal/markdown", "internal/term github.com/charmbracelet/x/ansi github.com/yuin/goldmark/ast github.com/yuin/goldmark/parser github.com/yuin/goldmark/text github.com/yuin/goldmark/util",
		"what is a heading, a list, code or a link is for a Markdown parser to say; width and cleaning are the terminal's"},
	{"internal/view", "internal/markdown internal/message internal/term", "what happens comes in as values, statuses of the bus among them, and goes out as rendered lines; it knows no console, which shows them"},
	{"internal/console", ". internal/term github.com/charmbracelet/x/ansi github.com/muesli/cancelreader golang.org/x/term",
		"the line a person types into: raw mode, width, a read that can be ended"},

	// Processes: one goroutine that owns the state, contracts on all sides.
	{"internal/agent", ". internal/bus internal/crash internal/message internal/outcome internal/store internal/term internal/turn", "the process of one agent runs turns and tells of them"},
	{"internal/executor", ". internal/clock internal/crash internal/store internal/tool", "the process that runs calls which turns have offered in the store"},
	{"internal/hub", ". internal/bus internal/clock internal/crash internal/message internal/outcome internal/process internal/store", "the hub supervises, and announces what an agent that is gone could not"},

	// Above all: what is put together, and how a person reaches it.
	{"internal/app", ". internal/address internal/bus internal/bus/nats internal/caller internal/chat internal/colleague internal/config internal/confine internal/crash internal/flow internal/folder internal/guard internal/keyfile internal/limit internal/llm internal/llm/anthropic internal/llm/openai internal/llm/redacted internal/llm/retry internal/llm/scripted internal/plugin internal/process internal/project internal/reading internal/redact internal/route internal/store internal/term internal/workflow internal/worktree github.com/google/renameio/v2",
		"what an invocation has opened: the one place that knows which store, bus and providers there are. A misspelt agent is found by chat, outdated plugins of an older home by plugin, spans of time are worded in term, guard says who may call an agent"},
	{"internal/worker", ". internal/app internal/approval internal/attachment internal/bus internal/cgroup internal/chat internal/colleague internal/compaction internal/config internal/confine internal/folder internal/git internal/guard internal/hook internal/llm internal/mcp internal/plugin internal/process internal/project internal/prompt internal/reading internal/redact internal/sandbox internal/store internal/tool internal/tool/file internal/tool/note internal/tool/peer internal/tool/recall internal/tool/shell internal/tool/web internal/turn internal/undo internal/workflow internal/worktree golang.org/x/sync/errgroup golang.org/x/sys/unix",
		"a locked context and what its turns are run with: every tool there is, plugins, MCP servers (several are asked at once), prompt, the files that say so; chat posts what a turn says, compaction is given its texts"},
	{"internal/client", ". internal/app internal/bus internal/bus/nats internal/chat internal/clock internal/config internal/flow internal/folder internal/hub internal/limit internal/message internal/process internal/reading internal/route internal/sandbox internal/spelling internal/store internal/term internal/toml internal/trace internal/undo internal/worker internal/workflow",
		"what a person or a program may ask: rows are written, agents woken, processes started and ended by their identity; spans of time are worded in term, misspelt chats found"},
	{"internal/contexts", ". internal/app internal/attachment internal/config internal/folder internal/guard internal/hook internal/prompt internal/store internal/turn internal/worker",
		"commands on contexts: folders and rows that belong together; hooks are told, the prompt is shown as the model gets it, turn estimates what it costs"},
	{"internal/mcpadmin", ". internal/app internal/config internal/folder internal/mcp internal/spelling internal/tool internal/worker",
		"what a person does with MCP servers: config.toml and what was agreed to; a worker's toolbox says how they are run"},
	{"internal/pluginadmin", ". internal/app internal/config internal/folder internal/plugin internal/tool internal/worker",
		"what a person does with plugins: files of the home and config.toml; a worker's toolbox says which names are taken"},
	{"internal/setup", ". internal/app internal/config internal/folder internal/project internal/spelling internal/template internal/worktree github.com/google/renameio/v2",
		"what a person does to have a project and agents: files of both, checked as settings before they are there; what was shown is noted in one step"},
	{"internal/chatfile", ". internal/safetext internal/store github.com/google/renameio/v2", "chats as plain text: written from the store, and cleaned, since they are read on terminals"},
	{"internal/backup", ". internal/app internal/attachment internal/clock internal/folder internal/store github.com/google/renameio/v2",
		"the database and what people edit, out of a home and into it; files are replaced in one step"},
	{"internal/daemon", ". internal/address internal/agent internal/app internal/backup internal/bus internal/bus/nats internal/chat internal/chatfile internal/client internal/clock internal/config internal/crash internal/executor internal/folder internal/guard internal/hub internal/message internal/process internal/reading internal/redact internal/store internal/turn internal/worker internal/workflow",
		"the hub and an agent put together: the embedded server, processes, backups a day; chat says what keeps an agent from a message, turn remembers the end of a conversation; guard knows what stands for all"},
	{"internal/doctor", ". internal/app internal/bus/nats internal/cgroup internal/client internal/config internal/confine internal/contexts internal/folder internal/guard internal/plugin internal/pluginadmin internal/process internal/project internal/sandbox internal/spelling internal/store internal/term internal/worker",
		"one look at everything of a home; damaged streams are nats's to name, spans of time worded in term"},
	{"internal/changes", ". internal/client internal/diff internal/term internal/undo", "what agents changed, in words: a face of client for the command and the consoles"},
	{"internal/question", ". internal/client internal/term", "what a person is asked in a console: a face of client in words"},
	{"internal/master", ". internal/changes internal/client internal/process internal/question internal/spelling internal/term internal/workflow github.com/google/renameio/v2", "the console: a face of client; lines are cleaned and spans of time worded in term, misspelt verbs and whole teams found, and what it waits for is kept in a file that one console locks"},
	{"internal/cli/command", ". internal/app internal/attachment internal/client internal/config internal/console internal/folder internal/mention internal/process internal/setup internal/spelling internal/term internal/view internal/worker github.com/spf13/cobra github.com/spf13/pflag", "what all commands share: flags, answers, errors, a client, files that mention nobody, completion of names that stand in the store, the config, the folders and the key file"},
	{"internal/cli/agent", ". internal/agent internal/cli/command internal/client internal/daemon internal/mcpadmin internal/message internal/setup internal/template internal/term internal/view internal/worker internal/worktree github.com/spf13/cobra", "the process of an agent and what it shows, on a terminal as all views of agents do; a summary of what an agent has before it is written here, so that none of its own processes need run"},
	{"internal/cli/chat", ". internal/attachment internal/changes internal/chat internal/cli/command internal/client internal/clock internal/config internal/console internal/markdown internal/mention internal/message internal/question internal/spelling internal/term internal/view github.com/spf13/cobra", "entries, the line one types into with its commands, and limits as they are written in the config"},
	{"internal/cli/request", ". internal/agent internal/cli/command internal/client internal/message internal/term github.com/spf13/cobra", "requests and the statuses of who works on them"},
	{"internal/cli/conversation", ". internal/cli/command internal/client internal/term github.com/spf13/cobra", "all conversations"},
	{"internal/cli/context", ". internal/cli/chat internal/cli/command internal/client internal/contexts internal/folder internal/term internal/worker github.com/spf13/cobra", "contexts are what people look after; a log shows entries as a chat does"},
	{"internal/cli/config", ". internal/cli/command internal/config internal/config/migrate internal/doctor internal/term github.com/spf13/cobra", "settings, where they come from, and older ones"},
	{"internal/cli/model", ". internal/app internal/cli/command internal/config internal/term github.com/spf13/cobra", "models and the keys they need"},
	{"internal/cli/key", ". internal/cli/command internal/keyfile internal/term github.com/spf13/cobra", "keys in the key file"},
	{"internal/cli/store", ". internal/backup internal/cli/command internal/client internal/config github.com/spf13/cobra", "the database, its copies and where it is"},
	{"internal/cli/plugin", ". internal/cli/command internal/plugin internal/pluginadmin internal/term github.com/spf13/cobra", "plugins are what people look after"},
	{"internal/cli/executor", ". internal/cli/command internal/daemon github.com/spf13/cobra", "the process of an executor in a terminal"},
	{"internal/cli/mcp", ". internal/cli/command internal/config internal/mcp internal/mcpadmin internal/term github.com/spf13/cobra", "MCP servers are what people look after; what is installed is shown as it stands in the config"},
	{"internal/cli/budget", ". internal/cli/command internal/client internal/config internal/limit github.com/spf13/cobra", "what may be spent, set and shown; a budget is a value of internal/limit, as the store tells how it stands"},
	{"internal/cli/bus", ". internal/cli/command internal/client github.com/spf13/cobra", "which programs may ask agents by the bus, set and shown"},
	{"internal/cli/rules", ". internal/cli/command internal/guard internal/term github.com/spf13/cobra", "what the rules say of a call, by the rules themselves"},
	{"internal/cli/schedule", ". internal/cli/command internal/client internal/config github.com/spf13/cobra", "schedules of the settings, as commands"},
	{"internal/cli/project", "internal/cli/command internal/setup internal/term github.com/spf13/cobra", "projects are what people look after"},
	{"internal/cli/template", "internal/cli/command internal/setup internal/template internal/term github.com/spf13/cobra", "templates are looked at"},
	{"internal/cli/workflow", ". internal/cli/command internal/client internal/term internal/toml internal/workflow github.com/spf13/cobra", "workflows are files that people write"},
	{"internal/cli", ". internal/agent internal/app internal/backup internal/changes internal/cli/agent internal/cli/budget internal/cli/bus internal/cli/chat internal/cli/command internal/cli/config internal/cli/context internal/cli/conversation internal/cli/executor internal/cli/key internal/cli/mcp internal/cli/model internal/cli/plugin internal/cli/project internal/cli/request internal/cli/rules internal/cli/schedule internal/cli/store internal/cli/template internal/cli/workflow internal/client internal/config internal/console internal/daemon internal/doctor internal/folder internal/guard internal/hub internal/master internal/mention internal/message internal/project internal/question internal/setup internal/spelling internal/template internal/term internal/trace internal/turn internal/undo internal/view internal/worker internal/workflow github.com/google/uuid github.com/spf13/cobra github.com/spf13/pflag",
		"the tree of commands, and those without a noun: flags become options and one call; what comes back is shown. Statuses, entries and events are shown as they are"},
	{"cmd/fika", "internal/cli internal/term", "hands the command line and the terminal over"},

	// Suites and stand-ins for tests, and tools of the build.
	{"internal/store/storetest", ". internal/limit internal/store pgregory.net/rapid", "the suite of every store, with generated histories"},
	{"internal/store/pgtest", "github.com/jackc/pgx/v5", "a real server for the tests of the store"},
	{"internal/bus/bustest", ". internal/bus", "the suite of every bus, and one in memory"},
	{"internal/llm/llmtest", ". internal/llm internal/llm/wire github.com/google/go-cmp/cmp", "the suite of every model, and servers that stand in for providers"},
	{"internal/llm/llmtest/llmserve", "internal/llm internal/llm/llmtest internal/llm/scripted", "a stand-in provider as a program"},
	{"internal/mcp/mcptest", "github.com/modelcontextprotocol/go-sdk/mcp", "an MCP server as a program, which knows nothing of fika"},
	{"internal/tool/tooltest", ". internal/process internal/tool", "the suite of every tool"},
	{"test/house", "", "reads source"},
	{"test/e2e", "", "runs the real program; only its tests import anything"},
	{"test/escape", "github.com/creack/pty github.com/modelcontextprotocol/go-sdk/mcp golang.org/x/sync/errgroup", "tries to get out of the sandbox with the real program, also as an MCP server; it shares no code with it"},
	{"test/chaos", "internal/llm internal/llm/llmtest internal/store/pgtest github.com/jackc/pgx/v5/stdlib github.com/nats-io/nats.go golang.org/x/sync/errgroup golang.org/x/sys/unix modernc.org/sqlite",
		"breaks the real program and reads the verdict from its database; it shares no code with what it judges"},
	{"test/bench", ". internal/bus/nats internal/confine internal/guard internal/llm/llmtest internal/mcp/mcptest internal/sandbox internal/store internal/store/pgtest internal/tool/proc github.com/creack/pty github.com/nats-io/nats.go modernc.org/sqlite", "measures the program against floors of the same libraries, without the program around them"},
	{"test/bench/peer", "github.com/nats-io/nats.go", "the other end of a measured message"},
	{"test/picture", "", "draws the README's picture from what the program prints on a terminal"},
	{"internal/docgen", "internal/cli internal/config internal/hook internal/plugin github.com/spf13/cobra github.com/spf13/pflag",
		"writes the references from the commands, settings, hooks and variables there are"},
	{"internal/importtest", "", "reads source"},
}

// The layers, for the arrows that no row may turn round.
var (
	// nouns may be used by all.
	nouns = []string{".", "internal/diff", "internal/limit", "internal/redact", "internal/speech", "internal/spelling", "internal/clock", "internal/address", "internal/safetext", "internal/toml"}
	// The store's values are what decisions are about; its methods they name in
	// interfaces of their own.
	contracts = []string{"internal/bus", "internal/llm", "internal/tool", "internal/hook", "internal/message"}
	decisions = []string{"internal/flow", "internal/turn", "internal/chat", "internal/colleague", "internal/mention", "internal/prompt", "internal/compaction", "internal/outcome", "internal/guard", "internal/reading", "internal/trace", "internal/workflow"}
	processes = []string{"internal/hub", "internal/agent", "internal/web"}
	// floors are what is put together of all that: each may import those before
	// it, and nobody else may import them but those outside.
	floors  = []string{"internal/app", "internal/worker", "internal/client", "internal/contexts", "internal/pluginadmin", "internal/mcpadmin", "internal/setup", "internal/backup", "internal/daemon", "internal/doctor", "internal/changes", "internal/question", "internal/master", "internal/cli"}
	outside = []string{"cmd/fika", "internal/docgen"}
	// languages are libraries that decisions may use: they touch nothing
	// outside the process.
	languages = []string{
		"github.com/yuin/goldmark/ast", "github.com/yuin/goldmark/parser", "github.com/yuin/goldmark/text", "github.com/yuin/goldmark/util",
		"golang.org/x/sync/errgroup", "mvdan.cc/sh/v3/syntax",
		"github.com/expr-lang/expr", "github.com/expr-lang/expr/ast", "github.com/expr-lang/expr/conf", "github.com/expr-lang/expr/file", "github.com/expr-lang/expr/parser", "github.com/expr-lang/expr/vm",
		"github.com/google/jsonschema-go/jsonschema",
	}
	forbiddenInTests = []string{"github.com/stretchr/testify/assert", "github.com/stretchr/testify/require", "github.com/onsi/gomega"}
)

// guard keeps one package of the standard library to a few of ours.
type guard struct {
	imported string
	only     string
	why      string
}

var guarded = [...]guard{
	{"database/sql", "internal/store", "one package writes SQL"},
	{"net/http", "internal/config internal/llm/anthropic internal/llm/openai internal/llm/wire internal/mcp internal/tool/web",
		"HTTP is for providers, for fetch, for remote MCP servers, and for finding an Ollama on this machine"},
	{"os/exec", "internal/daemon internal/client internal/git internal/mcp internal/process internal/sandbox internal/tool/proc internal/tool/shell",
		"processes start in groups (proc), live for many calls (mcp), start as agents and hub (daemon, client), as git that starts nothing else (git), or are looked up (shell)"},
	{"os/signal", "internal/cli internal/cli/command internal/console", "signals belong to the program and to the terminal line"},
	{"embed", "internal/cli internal/config internal/folder internal/plugin internal/route internal/store internal/template internal/workflow",
		"the demo, the starting config, the prompts, the shipped plugins, the migrations, the agents to start from, the shipped workflows, the vocabulary of everyday work"},
}
