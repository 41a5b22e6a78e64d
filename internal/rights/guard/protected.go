package guard

import (
	"slices"
	"strings"
)

// Protected returns the reason why a tool must not change a file of a workspace; "": it
// may. The path is relative to the workspace, with slashes.
func Protected(path string) string { return protected(parts(path)) }

// protected returns the reason why a tool must not change a file with these names; "":
// it may. The file need not exist.
func protected(names []string) string {
	for i, name := range names {
		name, last := strings.ToLower(name), i == len(names)-1
		switch {
		case name == ".git":
			return "is git's own, which only git commands change"
		case name == ".fika":
			return "holds settings of fika"
		case folders(name):
			return "holds settings that a program obeys"
		case last && files(name):
			return "is obeyed by a program or by other agents"
		}
	}
	return ""
}

// ProtectedNames lists what no tool may change at the root of a workspace besides its
// .git, in the usual spelling. Any of it may be missing.
func ProtectedNames() []string {
	return []string{
		".fika", ".vscode", ".idea", ".devcontainer", ".cursor", ".claude", ".agents", ".codex", ".gemini", ".windsurf", ".husky",
		".envrc", ".mcp.json", ".gitmodules", ".pre-commit-config.yaml", ".cursorrules", ".windsurfrules", ".clinerules",
		"AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md",
		".github/copilot-instructions.md",
	}
}

// StartupFiles lists what runs when a person logs in or starts a program, by place in a
// home folder.
func StartupFiles() []string { return slices.Clone(startup[:]) }

// GitNames lists what git obeys in a repository's folder, and in those of its submodules
// and worktrees.
func GitNames() []string {
	return []string{"hooks", "config", "config.worktree", "info", "commondir", "gitdir"}
}

// folders reports whether a folder holds settings of an editor or an agent.
func folders(name string) bool {
	switch name {
	case ".vscode", ".idea", ".devcontainer", ".cursor", ".claude", ".agents", ".codex", ".gemini", ".windsurf", ".husky":
		return true
	}
	return false
}

// files reports whether a file is run, or read as instructions, by others.
func files(name string) bool {
	switch name {
	case ".envrc", ".mcp.json", ".gitmodules", ".pre-commit-config.yaml",
		"agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md", "copilot-instructions.md",
		".cursorrules", ".windsurfrules", ".clinerules":
		return true
	}
	return false
}

// keys lists small folders and files of keys in a person's home.
var keys = [...]string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker/config.json", ".netrc", ".npmrc", ".yarnrc.yml", ".pypirc",
	".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".git-credentials", ".config/git/credentials",
	".config/gh", ".config/hub", ".config/glab-cli", ".config/rclone", ".config/op", ".config/doctl", ".config/heroku", ".vault-token", ".pgpass", ".my.cnf", ".mylogin.cnf",
	".terraform.d/credentials.tfrc.json", ".gradle/gradle.properties", ".m2/settings.xml", ".m2/settings-security.xml",
	".claude/.credentials.json", ".codex/auth.json", ".config/anthropic", ".config/openai",
}

// secrets lists the larger ones: key rings, browsers, shell histories.
var secrets = [...]string{
	".config/gcloud", ".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".pki",
	".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge", ".config/opera", ".config/vivaldi",
	"snap/firefox", "snap/chromium", ".var/app/org.mozilla.firefox", ".var/app/com.google.Chrome", ".var/app/org.chromium.Chromium",
	"Library/Keychains", "Library/Cookies", "Library/Safari", "Library/Application Support/Google/Chrome", "Library/Application Support/Firefox",
	"Library/Application Support/BraveSoftware", "Library/Application Support/Microsoft Edge", "Library/Application Support/com.apple.TCC",
	".bash_history", ".zsh_history", ".histfile", ".local/share/fish/fish_history", ".python_history", ".psql_history", ".mysql_history", ".node_repl_history",
}

// startup lists what runs when a person logs in, opens a shell or starts a program.
var startup = [...]string{
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout",
	".kshrc", ".inputrc", ".config/fish", ".config/nushell", ".config/environment.d", ".config/systemd", ".config/autostart", ".local/share/systemd",
	".pam_environment", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc", "Library/LaunchAgents", "Library/LaunchDaemons",
	".gitconfig", ".config/git", ".hgrc", ".vimrc", ".vim", ".config/nvim", ".emacs", ".emacs.d", ".config/emacs", ".tmux.conf", ".config/tmux", ".screenrc",
	".gdbinit", ".lldbinit", ".editrc", ".curlrc", ".wgetrc", ".pythonrc", ".cargo/config.toml", ".cargo/bin", ".local/bin", "bin", "go/bin",
	".config/pip", ".pip", ".bunfig.toml", ".direnvrc", ".config/direnv", ".docker/cli-plugins", ".config/Code", ".config/VSCodium", ".local/share/applications",
}
