package fika

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// AgentName is the name of an agent and of its context folder: lower case, matching
// ^[a-z0-9][a-z0-9_-]{0,31}$. It is safe as a path element and as a token of a bus
// subject. [ParseAgentName] returns one.
type AgentName string

// ConversationName is the name of a chat (like an agent's name, but up to 64
// characters) or the generated name of an ask or task conversation.
type ConversationName string

const (
	maxAgentName        = 32
	maxChatName         = 64
	maxConversationName = 128
)

// wellFormed reports whether s is 1 to most characters of a-z 0-9 _ -, beginning with a
// letter or a digit.
func wellFormed(s string, most int) bool {
	if s == "" || len(s) > most || s[0] == '_' || s[0] == '-' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// WorkflowAgent is the name under which runs of workflows and teams are kept, and on
// whose bus subjects teams receive requests. No agent can have it.
const WorkflowAgent AgentName = "workflow"

// IsReserved reports whether name, in any case, has a special meaning in mentions and
// transcripts and therefore cannot name an agent.
func IsReserved(name string) bool {
	switch strings.ToLower(name) {
	case "user", "all", "tool", "system", "auto", string(WorkflowAgent):
		return true
	}
	return false
}

// ParseAgentName checks a name that came from outside (flag, bus, tool argument, file)
// and folds it to lower case. Error kind: [Invalid].
func ParseAgentName(s string) (AgentName, error) {
	n := strings.ToLower(s)
	if !wellFormed(n, maxAgentName) {
		return "", Errorf(Invalid, "agent name", "%s is not a name: use 1 to 32 of a-z 0-9 _ - and begin with a letter or a digit", quoteShort(s))
	}
	if n == string(WorkflowAgent) {
		return "", Errorf(Invalid, "agent name", "%q is no agent: the name stands for the runs of workflows", n)
	}
	if IsReserved(n) {
		return "", Errorf(Invalid, "agent name", "%q is reserved", n)
	}
	return AgentName(n), nil
}

// ParseAddressee checks the name of an addressee on the bus: an agent's name or
// [WorkflowAgent]. Error kind: [Invalid].
func ParseAddressee(s string) (AgentName, error) {
	if strings.EqualFold(s, string(WorkflowAgent)) {
		return WorkflowAgent, nil
	}
	return ParseAgentName(s)
}

// ParseChatName checks the name of a chat and folds it to lower case. Error kind:
// [Invalid].
func ParseChatName(s string) (ConversationName, error) {
	n := strings.ToLower(s)
	if !wellFormed(n, maxChatName) {
		return "", Errorf(Invalid, "chat name", "%s is not a name: use 1 to 64 of a-z 0-9 _ - and begin with a letter or a digit", quoteShort(s))
	}
	if IsReserved(n) {
		return "", Errorf(Invalid, "chat name", "%q is reserved", n)
	}
	return ConversationName(n), nil
}

// ParseConversationName checks the name of any conversation, including generated names,
// and folds it to lower case. Error kind: [Invalid].
func ParseConversationName(s string) (ConversationName, error) {
	n := strings.ToLower(s)
	if !wellFormed(n, maxConversationName) {
		return "", Errorf(Invalid, "conversation name", "%s is not a conversation name", quoteShort(s))
	}
	return ConversationName(n), nil
}

// ParseUsername checks a person's name: 1 to 32 letters and digits of one script
// (Latin, Greek, Cyrillic, …; Chinese, Japanese and Korean may be mixed), with _ and -
// between or after them. Combining marks count as letters, except at the beginning.
// Case is kept. "user" is allowed; the other reserved names are not. Names that mix two
// scripts are refused, because "аrya" with a Cyrillic first letter reads as the agent
// arya. The store checks whether an agent already has the name. Error kind: [Invalid].
func ParseUsername(s string) (string, error) {
	n := strings.ToLower(s)
	if !personal(s) || (IsReserved(n) && n != "user") {
		return "", Errorf(Invalid, "username", "%s cannot be a username: use 1 to 32 letters or digits of one script, _ or -; all, auto, system, tool and workflow are taken", quoteShort(s))
	}
	return s, nil
}

// personal reports whether s has the form that [ParseUsername] describes.
func personal(s string) bool {
	script, n := "", 0
	for _, r := range s {
		n++
		switch {
		case r == '_' || r == '-', unicode.IsMark(r):
			if n == 1 {
				return false
			}
		case unicode.IsDigit(r):
		case unicode.IsLetter(r):
			of := scriptOf(r)
			if of == "" || script != "" && of != script {
				return false
			}
			script = of
		default:
			return false
		}
	}
	return n > 0 && n <= maxAgentName && utf8.ValidString(s)
}

// scriptOf names the script of a letter. It returns "" for letters of no script or of
// several.
func scriptOf(r rune) string {
	if r < 0x80 {
		return "Latin"
	}
	for name, table := range unicode.Scripts {
		if !unicode.Is(table, r) {
			continue
		}
		switch name {
		case "Common", "Inherited":
			return ""
		case "Han", "Hiragana", "Katakana", "Hangul", "Bopomofo":
			return "Han"
		}
		return name
	}
	return ""
}

func quoteShort(s string) string {
	const limit = 60
	if r := []rune(s); len(r) > limit {
		return fmt.Sprintf("%q… (%d characters)", string(r[:limit]), len(r))
	}
	return fmt.Sprintf("%q", s)
}
