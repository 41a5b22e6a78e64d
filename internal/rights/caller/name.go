package caller

import (
	"strings"

	"fika"
)

// PersonName checks that a person, or a program from outside, may use a name. isAgent
// reports whether a name belongs to an agent or a context. Error kinds: Invalid (not a
// username), Denied (an agent's name), and the errors of isAgent.
func PersonName(name string, isAgent func(fika.AgentName) (bool, error)) error {
	if _, err := fika.ParseUsername(name); err != nil {
		return err
	}
	n, err := fika.ParseAgentName(strings.ToLower(name))
	if err != nil {
		return nil // "user", or a name that no agent can have
	}
	taken, err := isAgent(n)
	if err != nil {
		return err
	}
	if taken {
		return fika.Errorf(fika.Denied, "", "%q is the name of an agent or a context: a person cannot speak as an agent", name)
	}
	return nil
}
