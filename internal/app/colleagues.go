package app

import (
	"fika"
	"fika/internal/chat/colleague"
)

// Colleagues returns the agents that others may ask: those with an [[agents]] entry, in
// the order of the configuration, without self. It returns none if the configuration
// cannot be read.
func (c *Configuration) Colleagues(self fika.AgentName) []colleague.Colleague {
	read, err := c.Config()
	if err != nil {
		return nil
	}
	var out []colleague.Colleague
	for _, e := range read.Entries() {
		if name := fika.AgentName(e.ID); name != self {
			out = append(out, colleague.Colleague{Name: name, Capabilities: e.Capabilities, Description: e.Description})
		}
	}
	return out
}
