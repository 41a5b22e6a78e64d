package config

import (
	"fmt"
	"strings"

	"fika"
)

// Mention is a setting that refers to a chat by its name.
type Mention struct {
	What string // the setting's owner, as a person calls it
	At   Place
}

// ChatMentions returns the settings that refer to a chat.
func (c *Config) ChatMentions(chat fika.ConversationName) []Mention {
	var out []Mention
	for i, s := range c.Schedules {
		if s.Chat == string(chat) {
			out = append(out, Mention{fmt.Sprintf("the schedule %s", s.Name), c.placeOf("schedules", i, "chat")})
		}
	}
	for i, b := range c.Budgets {
		if strings.EqualFold(b.Scope, "chat:"+string(chat)) {
			out = append(out, Mention{fmt.Sprintf("the budget of %s per %s", b.Scope, b.Per), c.placeOf("budgets", i, "scope")})
		}
	}
	return out
}
