package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fika/internal/settings/config"
)

// A key in the shell of a session counts for the processes of a hub that ran before, as long
// as the session lasts, and for nobody else.
func TestKeysAreLentForASession(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "config.toml"), []byte("[[models]]\nid = \"m\"\nprovider = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key_env = \"MY_KEY\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o700); err != nil {
		t.Fatal(err)
	}
	open := func(env map[string]string) *App {
		a := New(Options{Root: root, Dir: root, Getenv: func(name string) string { return env[name] }})
		t.Cleanup(func() { a.Close() })
		return a
	}
	shell, hub, other := open(map[string]string{"MY_KEY": "key-of-the-shell"}), open(nil), open(nil)
	hub.StartedByHub()
	m := config.Model{ID: "m", Provider: "openai", BaseURL: "http://127.0.0.1:9/v1", APIKeyEnv: "MY_KEY"}
	if v, err := hub.useKey(m); err == nil {
		t.Fatal(v)
	}
	end, err := shell.LendKeys()
	if err != nil {
		t.Fatal(err)
	}
	if v, err := hub.useKey(m); v != "key-of-the-shell" {
		t.Errorf("%q, %v", v, err)
	}
	if v, err := other.useKey(m); err == nil {
		t.Errorf("another command has it: %q", v)
	}
	elsewhere := m
	elsewhere.BaseURL = "https://evil.example/v1"
	if v, err := hub.useKey(elsewhere); err == nil {
		t.Errorf("another host gets it: %q", v)
	}
	if text := hub.Secrets().Text("it is key-of-the-shell"); strings.Contains(text, "key-of-the-shell") {
		t.Error(text)
	}
	if advice := hub.adviceOn(m); !strings.Contains(advice, "in the environment of the shell that opened a session") {
		t.Error(advice)
	}
	// What a killed session left counts for nothing, and is removed.
	dir := hub.LentKeysDir()
	left := filepath.Join(dir, "999999999-1")
	if err := os.WriteFile(left, []byte(`{"MY_KEY":{"value":"old"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	end()
	if v, err := hub.useKey(m); err == nil {
		t.Errorf("after the session: %q", v)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}
