package guard

import "path/filepath"

// The names under which a person lends what a program of theirs has stored to log in with.
const (
	GitCredentials = "git-credentials" // what git's helper store keeps
	GitHubCLI      = "gh"              // what gh auth login keeps
)

// CredentialFiles returns the files that hold the logins of a name in a person's home
// folder; nil for any other name.
func CredentialFiles(name, person string) []string {
	switch name {
	case GitCredentials:
		return []string{filepath.Join(person, ".git-credentials"), filepath.Join(person, ".config/git/credentials")}
	case GitHubCLI:
		return []string{filepath.Join(person, ".config/gh")}
	}
	return nil
}
