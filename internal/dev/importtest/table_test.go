package importtest

import (
	"os"
	"strings"
	"sync"
	"testing"
)

// row says what one package may import, beyond the standard library, and why
// that is right. "." is the module root, the nouns.
type row struct {
	pkg   string
	layer string // the heading it stands under
	may   []string
	why   string
}

// readTable reads imports.txt once for all tests.
var readTable = sync.OnceValues(func() ([]row, error) {
	text, err := os.ReadFile("imports.txt")
	if err != nil {
		return nil, err
	}
	var rows []row
	layer := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			layer = heading
		} else if name, ok := strings.CutPrefix(line, "\t"); ok && len(rows) > 0 {
			last := &rows[len(rows)-1]
			last.may = append(last.may, name)
		} else if line != "" && !strings.HasPrefix(line, "#") {
			pkg, why, _ := strings.Cut(line, ": ")
			rows = append(rows, row{pkg: pkg, layer: layer, why: why})
		}
	}
	return rows, nil
})

// packages are all rows of imports.txt, from the ground up.
func packages(t *testing.T) []row {
	t.Helper()
	rows, err := readTable()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// The layers whose arrows no row may turn round, as imports.txt calls them.
const (
	nouns     = "nouns"
	contracts = "contracts"
	decisions = "decisions"
	processes = "processes"
	floors    = "floors"
	program   = "program"
)

// layers are those that a package may stand in.
func layers() []string {
	return []string{nouns, "system", contracts, decisions, "technologies", processes, floors, program, "tests"}
}

// languages are libraries that decisions may use: they touch nothing outside
// the process.
func languages() []string {
	return []string{
		"github.com/yuin/goldmark/ast", "github.com/yuin/goldmark/parser", "github.com/yuin/goldmark/text", "github.com/yuin/goldmark/util",
		"golang.org/x/sync/errgroup", "mvdan.cc/sh/v3/syntax",
		"github.com/expr-lang/expr", "github.com/expr-lang/expr/ast", "github.com/expr-lang/expr/conf", "github.com/expr-lang/expr/file", "github.com/expr-lang/expr/parser", "github.com/expr-lang/expr/vm",
		"github.com/google/jsonschema-go/jsonschema",
	}
}

func forbiddenInTests() []string {
	return []string{"github.com/stretchr/testify/assert", "github.com/stretchr/testify/require", "github.com/onsi/gomega"}
}

// guard keeps one package of the standard library to a few of ours.
type guard struct {
	imported string
	only     string
	why      string
}

var guarded = [...]guard{
	{"database/sql", "internal/store", "one package writes SQL"},
	{"net/http", "internal/settings/config internal/daemon internal/report/delivery internal/door/mcp internal/door/web internal/sandbox/egress internal/admin/install internal/llm/anthropic internal/llm/gemini internal/llm/openai internal/llm/responses internal/llm/wire internal/extension/mcp internal/extension/oauth internal/report/otlp internal/tool/web internal/report/webhook",
		"HTTP is for providers, for fetch, for the proxy of commands, for remote MCP servers and logins to them, for finding an Ollama on this machine, for the page and the doors beside it, for receivers of events, and for the newest version"},
	{"os/exec", "internal/cli/session internal/daemon internal/service internal/repository/git internal/system/process internal/sandbox internal/tool/proc internal/tool/shell internal/repository/worktree",
		"processes start in groups (proc), in the shell of a person who types them (session), live for many calls (mcp), start as agents and hub (daemon, service), as git that starts nothing else (git) and in the tree of an agent, confined (worktree), or are looked up (shell)"},
	{"os/signal", "internal/cli internal/cli/command internal/terminal/console", "signals belong to the program and to the terminal line"},
	{"embed", "internal/llm/catalog internal/cli/demo internal/settings/config internal/door/web internal/settings/folder internal/extension/plugin internal/chat/route internal/store internal/settings/template internal/workflow",
		"the known models, the demo, the starting config, the page, the prompts, the shipped plugins, the migrations, the agents to start from, the shipped workflows, the vocabulary of everyday work"},
}
