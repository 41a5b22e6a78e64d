package scripted

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"fika/internal/llm"
)

// scene is what rules are matched against; it follows entirely from the request.
type scene struct {
	agent    string
	messages []llm.Message
	from     string // who speaks in the last user message
	last     string // its text
	round    int
	results  []result // from the tools that have just answered
}

type result struct {
	tool, text string
}

func sceneOf(agent string, r llm.Request) scene {
	r.Messages = slices.DeleteFunc(slices.Clone(r.Messages), func(m llm.Message) bool { return m.Role == llm.System }) // rules answer people, not the program
	s := scene{agent: agent, messages: r.Messages, round: 1}
	if s.agent == "" {
		s.agent = agentIn(r.System)
	}
	lastUser := -1
	for i, m := range r.Messages {
		if m.Role == llm.User {
			lastUser = i
		}
	}
	if lastUser >= 0 {
		s.from, s.last = splitSpeaker(r.Messages[lastUser].Text)
	}
	for _, m := range r.Messages[lastUser+1:] {
		if m.Role == llm.Assistant {
			s.round++
		}
	}
	begin := len(r.Messages)
	for begin > 0 && r.Messages[begin-1].Role == llm.ToolRole {
		begin--
	}
	names := callNames(r.Messages)
	for _, m := range r.Messages[begin:] {
		s.results = append(s.results, result{names[m.CallID], m.Text})
	}
	return s
}

// agentIn returns the agent's name in a system prompt that says `You are "name"` or "You
// are @name".
func agentIn(system string) string {
	for rest := system; ; {
		_, after, ok := strings.Cut(rest, "You are ")
		if !ok {
			return ""
		}
		rest = after
		if len(after) < 2 || after[0] != '"' && after[0] != '@' {
			continue
		}
		end := strings.IndexFunc(after[1:], func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-')
		})
		if end < 0 {
			end = len(after) - 1
		}
		if end > 0 {
			return after[1 : 1+end]
		}
	}
}

// splitSpeaker splits "[name] text", "[message from name; …]\ntext" and "[task from
// name]\ntext". Text without such a mark is the user's own, with the speaker "".
func splitSpeaker(text string) (from, rest string) {
	if !strings.HasPrefix(text, "[") {
		return "", text
	}
	mark, rest, ok := strings.Cut(text[1:], "]")
	if !ok || len(mark) > 200 || strings.Contains(mark, "\n") {
		return "", text
	}
	for _, kind := range []string{"message from ", "task from "} {
		if name, found := strings.CutPrefix(mark, kind); found {
			name, _, _ = strings.Cut(name, ";")
			return name, strings.TrimLeft(rest, " \n")
		}
	}
	if mark == "" || strings.ContainsAny(mark, " \t") {
		return "", text
	}
	return mark, strings.TrimPrefix(rest, " ")
}

func callNames(messages []llm.Message) map[string]string {
	names := map[string]string{}
	for _, m := range messages {
		for _, c := range m.Calls {
			names[c.ID] = c.Name
		}
	}
	return names
}

// view is what a rule's templates see.
type view struct {
	Agent, From, Last, Tool, Result string
	N, Round, Messages              int
	Match                           []string
	Group                           map[string]string
}

// meetsScene reports whether a rule answers this scene, and returns what its templates
// see.
func (r *rule) meetsScene(s scene) (view, bool) {
	v := view{Agent: s.agent, From: s.from, Last: s.last, Round: s.round, Messages: len(s.messages)}
	if r.raw.Agent != "" {
		if ok, _ := path.Match(strings.ToLower(r.raw.Agent), strings.ToLower(s.agent)); !ok {
			return v, false
		}
	}
	switch {
	case r.raw.Round != 0 && r.raw.Round != s.round:
		return v, false
	case r.raw.Round == 0 && r.afterTool == nil && s.round > 1:
		return v, false
	}
	groups, ok := r.hearsMessage(s.from, s.last)
	if !ok {
		return v, false
	}
	v.Match, v.Group = groups, namedGroups(r.match, groups)
	if len(s.results) > 0 {
		v.Tool, v.Result = s.results[len(s.results)-1].tool, s.results[len(s.results)-1].text
	}
	if r.afterTool != nil {
		hit := r.answeredResult(s.results)
		if hit < 0 {
			return v, false
		}
		v.Tool, v.Result = s.results[hit].tool, s.results[hit].text
	}
	v.N = r.countOccasions(s)
	return v, r.raw.Nth == 0 || r.raw.Nth == v.N
}

// hearsMessage matches from and match against one message.
func (r *rule) hearsMessage(from, text string) ([]string, bool) {
	if r.from != nil && !r.from.MatchString(from) {
		return nil, false
	}
	if r.match == nil {
		return []string{text}, true
	}
	groups := r.match.FindStringSubmatch(text)
	return groups, groups != nil
}

// answeredResult returns the index of the first result that the rule waits for; -1:
// none.
func (r *rule) answeredResult(results []result) int {
	for i, res := range results {
		if r.afterTool.MatchString(res.tool) && (r.result == nil || r.result.MatchString(res.text)) {
			return i
		}
	}
	return -1
}

// countOccasions counts how often the conversation has met the rule's conditions.
func (r *rule) countOccasions(s scene) int {
	n := 0
	if r.afterTool != nil {
		names := callNames(s.messages)
		for _, m := range s.messages {
			if m.Role == llm.ToolRole && r.answeredResult([]result{{names[m.CallID], m.Text}}) == 0 {
				n++
			}
		}
		return n
	}
	for _, m := range s.messages {
		if m.Role != llm.User {
			continue
		}
		if _, ok := r.hearsMessage(splitSpeaker(m.Text)); ok {
			n++
		}
	}
	return n
}

func namedGroups(re *regexp.Regexp, groups []string) map[string]string {
	out := map[string]string{}
	if re == nil {
		return out
	}
	for i, name := range re.SubexpNames() {
		if name != "" && i < len(groups) {
			out[name] = groups[i]
		}
	}
	return out
}
