package config_test

import (
	"strings"
	"testing"

	"fika/internal/settings/config"
)

func TestMCPServers(t *testing.T) {
	c, err := config.Parse("config.toml", []byte("[[mcp]]\nname = \"Files\"\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\nenv = [\"TOKEN\", \"LEVEL=debug\"]\n[[mcp]]\nname = \"far\"\nurl = \"https://mcp.example.org/mcp\"\nbearer_env = \"FAR_TOKEN\"\ntaint = false\ntrust = true\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.MCP) != 2 || c.MCP[0].Name != "files" || !c.MCP[0].Taint || c.MCP[0].Trust || c.MCP[1].Taint || !c.MCP[1].IsRemote() {
		t.Errorf("%+v", c.MCP)
	}
	for text, want := range map[string]string{
		"command = \"x\"":                  "this server has no name",
		"name = \"a__b\"\ncommand = \"x\"": "two underscores stand between",
		"name = \"a\"":                     "a command that is started, or a url",
		"name = \"a\"\ncommand = \"x\"\nurl = \"https://x.example\"":              "a command or a url, not both",
		"name = \"a\"\nurl = \"https://x.example\"\nargs = [\"x\"]":               "belong to a command",
		"name = \"a\"\ncommand = \"x\"\nbearer_env = \"T\"":                       "a bearer token is sent to a url",
		"name = \"a\"\nurl = \"http://x.example\"\nbearer_env = \"T\"":            "over plain http",
		"name = \"a\"\ncommand = \"x\"\nenv = [\"FIKA_HOME=/x\"]":                 "is for fika to set",
		"name = \"a\"\ncommand = \"x\"\n[[mcp]]\nname = \"a\"\ncommand = \"y\"\n": "defined twice",
		"name = \"a\"\ncomand = \"x\"":                                            "did you mean command?",
	} {
		if _, err := config.Parse("config.toml", []byte("[[mcp]]\n"+text+"\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
