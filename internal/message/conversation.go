package message

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"fika"
)

// longestConversation is how many bytes the name of a conversation may have.
const longestConversation = 128

// ScopedConversation returns the name of the ask conversation that an id of
// another program stands for when it asks agent: ask_AGENT_ID. A name that has
// this form already is returned as it is, and so is what fika generates.
func ScopedConversation(agent fika.AgentName, id fika.ConversationName) fika.ConversationName {
	prefix := askPrefix(agent)
	if strings.HasPrefix(string(id), prefix) {
		return id
	}
	name := prefix + string(id)
	if len(name) > longestConversation {
		sum := sha256.Sum256([]byte(id))
		mark := "-" + hex.EncodeToString(sum[:8])
		name = name[:longestConversation-len(mark)] + mark
	}
	return fika.ConversationName(name)
}

// generatedRest matches what follows ask_AGENT_ in a name that fika made up: a
// time and six digits.
var generatedRest = regexp.MustCompile(`^\d{8}-\d{6}-[0-9a-f]{6}$`)

// ForeignConversation returns the id that a program which is not fika knows a
// conversation of agent by: what [ScopedConversation] was given, unless that
// was too long; for a generated name the name itself.
func ForeignConversation(agent fika.AgentName, name fika.ConversationName) fika.ConversationName {
	id, ok := strings.CutPrefix(string(name), askPrefix(agent))
	if !ok || id == "" || generatedRest.MatchString(id) {
		return name
	}
	if _, err := fika.ParseConversationName(id); err != nil {
		return name
	}
	return fika.ConversationName(id)
}

func askPrefix(agent fika.AgentName) string { return string(fika.Ask) + "_" + string(agent) + "_" }
