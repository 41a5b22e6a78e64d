package caller

import (
	"strings"

	"fika"
)

// PersonName reports whether a person, or a program from outside, may go by a
// name. isAgent tells whether an agent or a context has a name. Error kinds:
// Invalid (no username), Denied (an agent's), and those of isAgent.
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
