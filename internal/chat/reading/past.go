package reading

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode"

	"fika"
	"fika/internal/store"
)

// PastStore is the part of the store needed to search an agent's past.
type PastStore interface {
	Search(ctx context.Context, words string, f store.ConversationFilter) ([]store.Found, error)
	ConversationByID(context.Context, fika.ConversationID) (fika.Conversation, error)
	Participants(context.Context, fika.ConversationID) ([]string, error)
	Frame(ctx context.Context, c fika.ConversationID, view fika.AgentID, upto int64) (store.Frame, error)
}

// Past is everything that an agent has taken part in: its own conversations, its
// tasks, and the chats that it is in, without what a person has cleared or rewound.
type Past struct {
	Store PastStore
	Agent fika.Agent
	// Now is the request that searches, whose own words are not past; empty: none.
	Now fika.RequestID
}

const (
	pastWords   = 10   // words of a query that count
	pastQueries = 64   // store queries of one call for combinations of words
	mostAhead   = 5000 // number of entries after which the search for uncleared ones stops
	common      = 40   // entries looked up for a single word
)

// Find returns entries that match the query, newest first, at most limit: those that
// hold all of its words, or else as many of them as any entry holds. A word also
// matches those that begin like it without its ending.
func (p Past) Find(ctx context.Context, query string, limit int) ([]store.Found, error) {
	limit = max(1, limit)
	words := wordsOf(query)
	look := &pastLook{Past: p, may: map[fika.ConversationID]scope{}}
	found, err := look.searchAll(ctx, words, limit)
	if err != nil || len(found) > 0 {
		return found, err
	}
	var known []string // as it begins, of those that occur at all
	var alone [][]store.Found
	for _, w := range words {
		w = beginningOf(w)
		found, err := look.searchAll(ctx, []string{w}, common)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			known, alone = append(known, w), append(alone, found)
		}
	}
	for n := len(known); n > 1; n-- {
		found, err := look.some(ctx, known, n, limit)
		if err != nil || len(found) > 0 {
			return found, err
		}
	}
	// No entry holds two of the words: the rarest one says the most.
	slices.SortStableFunc(alone, func(a, b []store.Found) int { return cmp.Compare(len(a), len(b)) })
	if len(alone) == 0 {
		return nil, nil
	}
	return alone[0][:min(limit, len(alone[0]))], nil
}

// pastLook is one search of a past.
type pastLook struct {
	Past
	asked int
	may   map[fika.ConversationID]scope
}

// some returns the entries that hold n of the words.
func (l *pastLook) some(ctx context.Context, words []string, n, limit int) ([]store.Found, error) {
	var out []store.Found
	for set := range uint(1) << len(words) {
		if bits.OnesCount(set) != n || l.asked >= pastQueries {
			continue
		}
		var chosen []string
		for i, w := range words {
			if set&(1<<i) != 0 {
				chosen = append(chosen, w)
			}
		}
		found, err := l.searchAll(ctx, chosen, limit)
		if err != nil {
			return nil, err
		}
		for _, x := range found {
			if !slices.ContainsFunc(out, func(y store.Found) bool { return y.ID == x.ID && y.Conversation == x.Conversation }) {
				out = append(out, x)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b store.Found) int { return b.At.Compare(a.At) })
	return out[:min(limit, len(out))], nil
}

// searchAll returns the entries that hold all of the words.
func (l *pastLook) searchAll(ctx context.Context, words []string, limit int) ([]store.Found, error) {
	l.asked++
	for ahead := readAhead * limit; ; ahead *= readAhead {
		found, err := l.Store.Search(ctx, strings.Join(words, " "), store.ConversationFilter{Agent: l.Agent.ID, Limit: ahead})
		if err != nil {
			return nil, err
		}
		out, err := l.inScope(ctx, found, limit)
		if err != nil || len(out) == limit || len(found) < ahead || ahead > mostAhead {
			return out, err
		}
	}
}

// inScope returns the entries that belong to the past, at most limit.
func (l *pastLook) inScope(ctx context.Context, found []store.Found, limit int) (out []store.Found, err error) {
	for _, x := range found {
		s, known := l.may[x.Conversation]
		if !known {
			if s, err = l.scopeOf(ctx, x.Conversation); err != nil {
				return nil, err
			}
			l.may[x.Conversation] = s
		}
		if s.holds(x.Entry) && (l.Now == "" || x.Request != l.Now) && len(out) < limit {
			out = append(out, x)
		}
	}
	return out, nil
}

// scope is the part of a conversation that is the agent's past; the zero value is no
// part.
type scope struct {
	own   bool
	after int64     // entries up to this seq were cleared
	kept  []int64   // except these
	cuts  fika.Cuts // a person has rewound these
}

func (s scope) holds(e fika.Entry) bool {
	return s.own && (e.Seq > s.after || slices.Contains(s.kept, e.Seq)) && !s.cuts.Has(e.Seq)
}

func (l *pastLook) scopeOf(ctx context.Context, id fika.ConversationID) (scope, error) {
	conv, err := l.Store.ConversationByID(ctx, id)
	if err != nil {
		return scope{}, err
	}
	var s scope
	switch conv.Kind {
	case fika.Ask, fika.Task:
		s.own = conv.Agent == l.Agent.ID
	case fika.Chat:
		in, err := l.Store.Participants(ctx, id)
		if err != nil {
			return scope{}, err
		}
		s.own = slices.Contains(in, string(l.Agent.Name))
	}
	for upto := int64(math.MaxInt64); s.own; {
		f, err := l.Store.Frame(ctx, id, "", upto)
		cut := f.Compaction
		if s.cuts = f.Cuts; err != nil || cut == nil {
			return s, err
		}
		if cut.Meta.Summary == "" { // a clear leaves no summary
			s.after, s.kept = cut.Meta.UpTo, cut.Meta.Kept
			return s, nil
		}
		upto = cut.Seq - 1
	}
	return s, nil
}

// wordsOf returns the distinct significant words of a query.
func wordsOf(query string) []string {
	split := func(keep func(string) bool) (out []string) {
		for _, w := range strings.FieldsFunc(query, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) && r != '*' && r != '\'' && r != '_'
		}) {
			w = strings.ToLower(strings.Trim(w, "'"))
			if strings.Trim(w, "*_'") != "" && keep(w) && !slices.Contains(out, w) && len(out) < pastWords {
				out = append(out, w)
			}
		}
		return out
	}
	if out := split(func(w string) bool { return !isFiller(w) }); len(out) > 0 {
		return out
	}
	return split(func(string) bool { return true })
}

// isFiller reports whether an English word says nothing about the object of a search.
func isFiller(word string) bool {
	switch word {
	case "a", "an", "the", "this", "that", "these", "those", "it", "its", "there", "here", "what", "which", "who", "when", "where", "why", "how",
		"i", "me", "my", "we", "us", "our", "you", "your", "they", "them", "their", "he", "she", "her", "his",
		"is", "are", "am", "be", "been", "was", "were", "do", "does", "did", "has", "have", "had", "will", "would", "can", "could", "should",
		"and", "or", "but", "if", "so", "as", "than", "then", "of", "in", "on", "at", "by", "for", "from", "to", "into", "with", "about":
		return true
	}
	return false
}

// beginningOf strips a usual ending from an English word and returns a prefix pattern.
func beginningOf(word string) string {
	if strings.HasSuffix(word, "*") {
		return word
	}
	for _, e := range []string{"ing", "ies", "ed", "es", "s"} {
		if rest, ok := strings.CutSuffix(word, e); ok && len(rest) >= 4 {
			return rest + "*"
		}
	}
	if len(word) < 4 {
		return word
	}
	return word + "*"
}
