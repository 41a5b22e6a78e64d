package limit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"fika"
	"fika/internal/text/hint"
)

// Reached describes a chain that has reached a limit.
type Reached struct {
	Chain   fika.RequestID
	Limit   string
	Limits  Limits                // those that hold where it stops
	Where   fika.ConversationName // where it stops
	Command string                // the command that continues; empty: that of the conversation
	// Between names the two agents of an echo.
	Between [2]fika.AgentName
}

// Notice returns the notice that is posted where the chain stops.
func (r Reached) Notice() string {
	command := r.Command
	if command == "" {
		command = hint.ChatContinue.With(r.Where)
	}
	return "limit reached (" + r.why() + "): this chain of messages has stopped; continue with: " + command
}

// NoticeElsewhere returns the notice that is posted where the chain began, if that is
// another conversation.
func (r Reached) NoticeElsewhere(began fika.ConversationName) string {
	return fmt.Sprintf("limit reached (%s): a chain of messages that began here has stopped in %s; continue with: %s", r.why(), r.Where, hint.ChatContinue.With(began))
}

// NoticeID returns an id that is the same for the same chain, limit and measure, so
// that each notice is posted once per conversation. After a limit is raised, the
// chain reaching the new one is a new notice.
func (r Reached) NoticeID() fika.EntryID {
	return noticeID("limit", string(r.Chain), r.Limit, fmt.Sprint(r.measure()), string(r.Between[0]), string(r.Between[1]))
}

// measure returns how much the limit allows.
func (r Reached) measure() int64 {
	switch r.Limit {
	case Depth:
		return int64(r.Limits.MaxDepth)
	case Turns:
		return int64(r.Limits.MaxTurns)
	case Tokens:
		return r.Limits.MaxTokens
	case Cost:
		return r.Limits.MaxCost
	case Age:
		return r.Limits.MaxAge.Milliseconds()
	case Echo:
		return int64(r.Limits.MaxEcho)
	}
	return 0
}

// why returns the part of a notice that names the limit.
func (r Reached) why() string {
	var what string
	n := r.measure()
	switch r.Limit {
	case Echo:
		return fmt.Sprintf("%d messages of @%s and @%s without anything new", n, r.Between[0], r.Between[1])
	case Depth:
		what = counted(n, "answer") + " in a row"
	case Turns:
		what = counted(n, "turn")
	case Tokens:
		what = counted(n, "token")
	case Cost:
		what = fmt.Sprintf("$%.2f", float64(n)/1e6)
	case Age:
		what = duration(r.Limits.MaxAge)
	}
	return what
}

// ContinueCommand returns the command with which a person continues a request after a
// limit; "" if that is the one for its conversation.
func ContinueCommand(kind fika.RequestKind, id fika.RequestID) string {
	switch kind {
	case fika.NotifyRequest:
		return ""
	case fika.RunRequest:
		return hint.RunContinue.With()
	}
	return hint.RequestRetry.With(id)
}

func noticeID(kind string, parts ...string) fika.EntryID {
	sum := sha256.New()
	for _, p := range parts {
		sum.Write([]byte(p))
		sum.Write([]byte{0})
	}
	return fika.EntryID(kind + "-" + hex.EncodeToString(sum.Sum(nil)[:16]))
}

func counted(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// duration formats d without trailing zero units: 6h, not 6h0m0s.
func duration(d time.Duration) string {
	switch {
	case d > 0 && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d > 0 && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}
