package setup

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fika"
)

// known is an agent program that is known by name.
type known struct {
	name    string
	about   string
	command []string
	install string   // what installs it
	hosts   []string // that it has to reach
}

func knownGuests() []known {
	return []known{
		{"claude", "Claude Code, a guest", []string{"claude-agent-acp"}, "npm install -g @agentclientprotocol/claude-agent-acp", []string{"api.anthropic.com", "platform.claude.com", "claude.ai"}},
		{"codex", "Codex, a guest", []string{"codex-acp"}, "npm install -g @agentclientprotocol/codex-acp", []string{"api.openai.com", "auth.openai.com", "chatgpt.com"}},
		{"opencode", "OpenCode, a guest", []string{"opencode", "acp"}, "npm install -g opencode-ai", []string{"opencode.ai", "models.dev"}},
		{"gemini", "Gemini CLI, a guest", []string{"gemini", "--acp"}, "npm install -g @google/gemini-cli", []string{"generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "oauth2.googleapis.com"}},
	}
}

// GuestLogin returns the command line that logs a known program in with a home of its own; ""
// for others.
func GuestLogin(program, home string) string {
	switch program {
	case "claude":
		return "HOME=" + home + " CLAUDE_CONFIG_DIR=" + home + "/.claude claude"
	case "codex":
		return "HOME=" + home + " CODEX_HOME=" + home + "/.codex codex login"
	case "opencode":
		return "HOME=" + home + " XDG_DATA_HOME=" + home + "/.local/share opencode auth login"
	case "gemini":
		return "HOME=" + home + " gemini"
	}
	return ""
}

// GuestHelp returns what helps an agent whose program does not open a session, in words; "" if
// that is not known. home is that of the program, path the PATH in which programs are looked
// up, and err of kind Invalid if the program speaks another version of the protocol.
func GuestHelp(command []string, home, path string, err error) string {
	i := slices.IndexFunc(knownGuests(), func(k known) bool { return len(command) > 0 && k.command[0] == filepath.Base(command[0]) })
	if i < 0 {
		return ""
	}
	switch k := knownGuests()[i]; {
	case !installed(command[0], path):
		return "install it: " + k.install
	case fika.IsKind(err, fika.Invalid):
		return "update it: " + k.install + "@latest"
	default:
		return "log in once, with its own home: " + GuestLogin(k.name, home)
	}
}

// KnownGuests returns the names of the agent programs that are known.
func KnownGuests() []string {
	var names []string
	for _, k := range knownGuests() {
		names = append(names, k.name)
	}
	return names
}

// Guest is an agent program that is known by name.
type Guest struct{ Name, Program string }

// FoundGuests returns the known agent programs that are installed in one of the folders of
// path, as such or as the program that their people use.
func FoundGuests(path string) []Guest {
	var found []Guest
	for _, k := range knownGuests() {
		if installed(k.command[0], path) || installed(k.name, path) {
			found = append(found, Guest{k.name, strings.TrimSuffix(k.about, ", a guest")})
		}
	}
	return found
}

// GuestOf returns the agent, still to be created, whose turns a program does: a known one, or
// a command with its arguments. called is its name; empty: that of the program. path is the
// PATH in which programs are looked up. Error kinds: NotFound for a program that is not
// installed, with what installs it; Invalid for a name that no agent can have.
func GuestOf(command []string, called, path string) (NewAgent, error) {
	k := known{name: guestName(command[0]), about: filepath.Base(command[0]) + ", a guest", command: command}
	if i := slices.IndexFunc(knownGuests(), func(k known) bool { return k.name == command[0] }); i >= 0 && len(command) == 1 {
		k = knownGuests()[i]
	}
	if !installed(k.command[0], path) {
		advice := ""
		if k.install != "" {
			advice = "; install it: " + k.install
		}
		return NewAgent{}, fika.Errorf(fika.NotFound, "", "program %q not found in PATH%s", k.command[0], advice)
	}
	if strings.Contains(k.command[0], "/") {
		full, err := filepath.Abs(k.command[0])
		if err != nil {
			return NewAgent{}, err
		}
		k.command = append([]string{full}, k.command[1:]...)
	}
	if called != "" {
		k.name = called
	}
	name, err := fika.ParseAgentName(k.name)
	if err != nil {
		return NewAgent{}, err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "---\ndescription: %s\nengine: acp\ncommand: %s\n", quote(k.about), quote(k.command))
	if len(k.hosts) > 0 {
		fmt.Fprintf(&text, "hosts: %s\n", quote(k.hosts))
	}
	text.WriteString("---\n")
	return NewAgent{Name: name, Text: text.String(), Own: true}, nil
}

// quote writes a value as JSON, which YAML reads.
func quote(v any) string {
	raw, _ := json.Marshal(v) // texts, which cannot fail
	return string(raw)
}

// guestName makes the name of an agent from that of a program.
func guestName(program string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, strings.ToLower(strings.TrimSuffix(filepath.Base(program), filepath.Ext(program))))
	return strings.Trim(name, "-_")
}

func installed(program, path string) bool {
	dirs := filepath.SplitList(path)
	if strings.Contains(program, "/") {
		dirs = []string{""}
	}
	return slices.ContainsFunc(dirs, func(dir string) bool {
		info, err := os.Stat(filepath.Join(dir, program))
		return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
	})
}
