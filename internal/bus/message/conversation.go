package message

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"fika"
)

// longestConversation is the most bytes in a conversation's name.
const longestConversation = 128

// ScopedConversation returns the name of the ask conversation that another program's
// id stands for when it asks agent: ask_AGENT_ID. A name that has this form already,
// such as one that fika generated, is returned as it is.
func ScopedConversation(agent fika.AgentName, id fika.ConversationName) fika.ConversationName {
	prefix := askPrefix(agent)
	if strings.HasPrefix(string(id), prefix) {
		return id
	}
	return shortened(prefix+string(id), id)
}

// shortened returns a name, or the beginning of a too long one with a digest of id.
func shortened(name string, id fika.ConversationName) fika.ConversationName {
	if len(name) > longestConversation {
		sum := sha256.Sum256([]byte(id))
		mark := "-" + hex.EncodeToString(sum[:8])
		name = name[:longestConversation-len(mark)] + mark
	}
	return fika.ConversationName(name)
}

// MemberConversation returns the name of the ask conversation that a member of the bus
// means by id when it asks agent: ask_AGENT_MEMBER for none, else ask_AGENT_MEMBER_ID. A
// name of these forms is returned as it is. A member's name has no underscore, so no two
// members share a conversation.
func MemberConversation(agent fika.AgentName, member string, id fika.ConversationName) fika.ConversationName {
	own := askPrefix(agent) + strings.ToLower(member)
	rest, _ := strings.CutPrefix(string(id), own)
	if rest == string(id) { // as other programs know it
		rest, _ = strings.CutPrefix(string(id), strings.ToLower(member))
	}
	switch {
	case rest == "":
		return fika.ConversationName(own)
	case rest != string(id) && rest[0] == '_':
		return shortened(own+rest, id)
	}
	return shortened(own+"_"+string(id), id)
}

// generatedRest reports whether s is what follows ask_AGENT_ in a generated name: a
// time, a dash and six hexadecimal digits.
func generatedRest(s string) bool {
	const stamp = "20060102-150405"
	if len(s) != len(stamp)+len("-0a1b2c") || s[len(stamp)] != '-' {
		return false
	}
	_, err := time.Parse(stamp, s[:len(stamp)])
	_, hexErr := hex.DecodeString(s[len(stamp)+1:])
	return err == nil && hexErr == nil
}

// ForeignConversation returns the id by which other programs know a conversation of
// agent: the argument of [ScopedConversation], unless that was too long, or the name
// itself if it was generated.
func ForeignConversation(agent fika.AgentName, name fika.ConversationName) fika.ConversationName {
	id, ok := strings.CutPrefix(string(name), askPrefix(agent))
	if !ok || id == "" || generatedRest(id) {
		return name
	}
	if _, err := fika.ParseConversationName(id); err != nil {
		return name
	}
	return fika.ConversationName(id)
}

func askPrefix(agent fika.AgentName) string { return string(fika.Ask) + "_" + string(agent) + "_" }
