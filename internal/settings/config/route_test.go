package config

import (
	"strings"
	"testing"
)

// TestA11: a model without an address of its own is reached where the
// environment says, as the providers' own programs would; one that has an
// address is not moved, and config show tells where it came from.
func TestA11(t *testing.T) {
	proxy := map[string]string{
		"OPENAI_BASE_URL": "https://proxy.test/openai/v1", "ANTHROPIC_BASE_URL": "https://proxy.test/claude", "ANTHROPIC_API_KEY": "sk-a",
	}
	older := map[string]string{"OPENAI_API_BASE": "https://older.test/v1", "OPENAI_API_KEY": "sk-o"}
	for name, c := range map[string]struct {
		file, model string
		env         map[string]string
		url, key    string
		origin      string
	}{
		"defined, openai":       {"[[models]]\nid = \"gpt-5.5\"\n", "gpt-5.5", proxy, "https://proxy.test/openai/v1", "", "environment OPENAI_BASE_URL"},
		"defined, anthropic":    {"[[models]]\nid = \"claude-sonnet-5-5\"\n", "claude-sonnet-5-5", proxy, "https://proxy.test/claude", "ANTHROPIC_API_KEY", "environment ANTHROPIC_BASE_URL"},
		"by name alone":         {"", "claude-opus-5-5", proxy, "https://proxy.test/claude", "ANTHROPIC_API_KEY", "environment ANTHROPIC_BASE_URL"},
		"no config at all":      {"", "", proxy, "https://proxy.test/claude", "ANTHROPIC_API_KEY", "environment ANTHROPIC_BASE_URL"},
		"the older name":        {"", "gpt-5.5", older, "https://older.test/v1", "OPENAI_API_KEY", "environment OPENAI_API_BASE"},
		"an address of its own": {"[[models]]\nid = \"gpt-5.5\"\nbase_url = \"https://own.test/v1\"\n", "gpt-5.5", proxy, "https://own.test/v1", "", "model gpt-5.5"},
		"one for all":           {"base_url = \"https://all.test/v1\"\n[[models]]\nid = \"gpt-5.5\"\n", "gpt-5.5", proxy, "https://all.test/v1", "", "config.toml:1"},
		"another provider":      {"", "meta/llama-4", proxy, openRouterURL, "OPENROUTER_API_KEY", "model meta/llama-4"},
		"named openai":          {"[[models]]\nid = \"azure/gpt-5\"\nprovider = \"openai\"\n", "azure/gpt-5", proxy, "https://proxy.test/openai/v1", "", "environment OPENAI_BASE_URL"},
		"nothing set":           {"", "gpt-5.5", nil, openAIURL, "OPENAI_API_KEY", "model gpt-5.5"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := Parse("config.toml", []byte(c.file))
			if err != nil {
				t.Fatal(err)
			}
			in := Inputs{Agent: "a", Config: cfg, Env: func(k string) string { return c.env[k] }}
			if c.model != "" {
				in.Flags = map[string]string{"model": c.model}
			}
			s, err := Resolve(in)
			if err != nil {
				t.Fatal(err)
			}
			if s.Model.BaseURL != c.url || s.Model.APIKeyEnv != c.key {
				t.Errorf("reached at %s with %q, want %s with %q", s.Model.BaseURL, s.Model.APIKeyEnv, c.url, c.key)
			}
			for _, row := range s.Show() {
				if row.Key == "base_url" && !strings.HasSuffix(row.Origin, c.origin) {
					t.Errorf("config show says %q, want %q", row.Origin, c.origin)
				}
			}
		})
	}
	_, err := Resolve(Inputs{Agent: "a", Flags: map[string]string{"model": "gpt-5.5"}, Env: func(k string) string { return map[string]string{"OPENAI_BASE_URL": "proxy:80"}[k] }})
	if err == nil || !strings.Contains(err.Error(), "OPENAI_BASE_URL") {
		t.Errorf("an address that is none: %v", err)
	}
}

// TestD5Check: config check refuses a key over plain http to another machine,
// wherever the address is named, and says what to set.
func TestD5Check(t *testing.T) {
	for file, wrong := range map[string]bool{
		"[[models]]\nid = \"m\"\nbase_url = \"http://gpu.lan:8000/v1\"\napi_key_env = \"KEY\"\n":             true,
		"[[models]]\nid = \"m\"\nbase_url = \"http://api.openai.com/v1\"\n":                                  true,
		"base_url = \"http://gpu.lan:8000/v1\"\napi_key_env = \"KEY\"\n":                                     true,
		"[[agents]]\nid = \"a\"\nbase_url = \"http://gpu.lan:8000/v1\"\napi_key_env = \"KEY\"\n":             true,
		"[[models]]\nid = \"m\"\nbase_url = \"http://gpu.lan:8000/v1\"\nheaders = [\"x-k: $KEY\"]\n":         true,
		"[[models]]\nid = \"m\"\nbase_url = \"http://gpu.lan:8000/v1\"\nheaders = [\"x-k: a\"]\n":            false,
		"[[models]]\nid = \"m\"\nbase_url = \"http://gpu.lan:8000/v1\"\n":                                    false,
		"[[models]]\nid = \"m\"\nbase_url = \"https://gpu.lan/v1\"\napi_key_env = \"KEY\"\n":                 false,
		"[[models]]\nid = \"m\"\nbase_url = \"http://127.0.0.1:8000/v1\"\napi_key_env = \"KEY\"\n":           false,
		"[[models]]\nid = \"m\"\nbase_url = \"http://[::1]:8000/v1\"\napi_key_env = \"KEY\"\n":               false,
		"[[models]]\nid = \"m\"\nbase_url = \"http://localhost/v1\"\napi_key_env = \"KEY\"\n":                false,
		"[[models]]\nid = \"m\"\nbase_url = \"http://127.0.0.1.evil.test/v1\"\napi_key_env = \"KEY\"\n":      true,
		"[[models]]\nid = \"m\"\nbase_url = \"http://gpu.lan/v1\"\napi_key_env = \"KEY\"\ninsecure = true\n": false,
	} {
		_, err := Parse("config.toml", []byte(file))
		if (err != nil) != wrong || wrong && !strings.Contains(err.Error(), "insecure = true") {
			t.Errorf("%s says %v", file, err)
		}
	}
}

// Headers are those of a gateway: not the key, nor what a call sets by itself.
func TestHeaders(t *testing.T) {
	for header, wrong := range map[string]string{
		"x-portkey-provider: bedrock": "",
		"HTTP-Referer: https://e.org": "",
		"x-secret: $GATEWAY_KEY":      "",
		"x-secret":                    "write it as",
		"bad name: x":                 "write it as",
		": x":                         "write it as",
		"x: a\\u0007b":                "printable",
		"Authorization: Bearer $KEY":  "api_key_env",
		"x-api-key: $KEY":             "api_key_env",
		"Content-Type: text/plain":    "by fika itself",
		"x-secret: $not a name":       "not the name",
	} {
		_, err := Parse("config.toml", []byte("[[models]]\nid = \"m\"\nbase_url = \"https://e.org/v1\"\nheaders = [\""+header+"\"]\n"))
		if (err != nil) != (wrong != "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v", header, err)
		}
	}
}
