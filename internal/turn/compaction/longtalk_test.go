package compaction_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/anthropic"
	"fika/internal/llm/llmtest"
	"fika/internal/llm/openai"
	"fika/internal/store"
	"fika/internal/store/storetest"
	"fika/internal/tool"
	"fika/internal/turn"
	"fika/internal/turn/compaction"
	"fika/internal/turn/prompt"
)

// strictWindow is what the servers of these tests take, in tokens as they count them.
const strictWindow = 8192

// strict is a model behind a server that counts every token and refuses what is too long.
// It remembers facts, words of the form fact-N, as far as it is shown them.
type strict struct {
	t     *testing.T
	wire  llmtest.Wire
	tool  func(r llmtest.Request) bool // takes a tool first
	quiet bool                         // reports no usage
	fails func(summary bool) string    // what a call is refused with; empty: it is answered

	mu        sync.Mutex
	refused   int // as too long
	summaries int
	spent     int64 // tokens of all calls
	forSums   int64 // tokens of those that summarise
	down      int   // calls that fails refused
}

var (
	factPattern = regexp.MustCompile(`fact-\d+\b`)
)

// tokens counts like the tokenizers of the field, and unlike the estimate: a word of five
// letters, or a mark.
func tokens(text string) (n int64) {
	letters := 0
	for _, r := range text {
		switch {
		case unicode.IsLetter(r), unicode.IsNumber(r), r == '_':
			if letters++; letters%5 == 1 {
				n++
			}
		default:
			letters = 0
			if !unicode.IsSpace(r) {
				n++
			}
		}
	}
	return n
}

func facts(text string) []string {
	all := factPattern.FindAllString(text, -1)
	slices.Sort(all)
	return slices.Compact(all)
}

func (s *strict) answer(r llmtest.Request) llmtest.Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	whole := r.System
	for _, m := range r.Messages {
		whole += "\n" + m.Text
		for _, c := range m.Calls {
			whole += c.Name + c.Args
		}
	}
	said := ""
	for _, d := range r.Tools {
		said += d.Name + d.Description + string(d.Parameters)
	}
	n := tokens(whole) + tokens(said) + int64(4*len(r.Messages))
	if n > strictWindow {
		s.refused++
		return s.tooLong(n)
	}
	last := r.Messages[len(r.Messages)-1]
	sums := strings.Contains(last.Text, "Use at most")
	if s.fails != nil {
		if words := s.fails(sums); words != "" {
			s.down++
			return llmtest.Script{llmtest.Status(400, words, 0)}
		}
	}
	text := "noted"
	switch {
	case sums:
		s.summaries++
		s.forSums += n
		text = "Known: " + strings.Join(facts(whole), " ")
	case strings.Contains(last.Text, "what do you know"):
		text = strings.Join(facts(whole), " ")
	case s.tool != nil && s.tool(r):
		s.spent += n
		return s.counted(n, llmtest.Call(fmt.Sprint("c", r.N), "look", fmt.Sprintf(`{"x":"%d"}`, r.N)))
	}
	s.spent += n + tokens(text)
	return s.counted(n, llmtest.Text(text))
}

func (s *strict) counted(n int64, a llmtest.Action) llmtest.Script {
	if s.quiet {
		return llmtest.Script{a}
	}
	return llmtest.Script{a, llmtest.Usage(n, 5)}
}

func (s *strict) tooLong(n int64) llmtest.Script {
	if s.wire == llmtest.Anthropic {
		return llmtest.Script{llmtest.Status(400, fmt.Sprintf("prompt is too long: %d tokens > %d maximum", n, strictWindow), 0)}
	}
	return llmtest.Script{llmtest.Status(400, fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.", strictWindow, n), 0)}
}

// talk is a store with agents that answer by a strict server.
type talk struct {
	*testing.T
	store  *store.Store
	server *strict
	model  llm.Model
	window int64 // that the agents believe in

	leases  map[fika.AgentName]store.Lease
	shown   int // compactions that an observer was told of
	warned  []string
	answers map[fika.AgentName]string
}

func newTalk(t *testing.T, wire llmtest.Wire, agents ...fika.AgentName) *talk {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Path: storetest.Fresh(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	k := &talk{T: t, store: s, server: &strict{t: t, wire: wire}, window: strictWindow, leases: map[fika.AgentName]store.Lease{}, answers: map[fika.AgentName]string{}}
	if wire == llmtest.Anthropic {
		k.model = anthropic.New(anthropic.Options{Model: "m", BaseURL: llmtest.NewAnthropic(t, k.server.answer).URL()})
	} else {
		k.model = openai.New(openai.Options{Model: "m", BaseURL: llmtest.NewOpenAI(t, k.server.answer).URL()})
	}
	for _, name := range agents {
		a, err := s.EnsureAgent(t.Context(), store.NewAgent{Name: name})
		k.must(err)
		k.leases[name], err = s.Acquire(t.Context(), a.ID, "test", time.Hour, true)
		k.must(err)
	}
	return k
}

func (k *talk) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

// texts are those of a context without files.
type texts struct{}

func (texts) Instructions() (string, error) { return "Summarise, and keep every fact.", nil }
func (texts) Summary() (string, error)      { return "", nil }
func (texts) Goals() (string, error)        { return "", nil }
func (texts) Todos() (string, error)        { return "", nil }

type system string

func (s system) Prompt(context.Context, store.Claimed) (prompt.Prompt, error) {
	return prompt.Prompt{System: []prompt.Section{{Title: "PROMPT", Text: string(s)}}}, nil
}

// work works everything that an agent has to do.
func (k *talk) work(name fika.AgentName, tools ...tool.Tool) {
	k.Helper()
	for {
		c, err := k.store.Claim(k.Context(), k.leases[name], store.Limits{}, nil)
		k.must(err)
		if c == nil {
			return
		}
		c.Agent.ActiveAsk = "" // no summary.md here
		set, err := tool.NewSet(tools, tool.Permissions{})
		k.must(err)
		cfg := turn.Config{
			Store: turn.StoreOf(k.store), Model: k.model, ModelID: "m", Tools: set, Prompt: system("you are a test"), Window: k.window,
			CompactAt: 80, MaxRounds: 200, Call: tool.Call{Agent: name, Context: string(name), Username: "ann"},
			Observer: turn.ObserverFunc(func(e turn.Event) {
				switch e.Kind {
				case turn.Compacted:
					k.shown++
				case turn.Warning:
					k.warned = append(k.warned, e.Text)
				}
			}),
		}
		cfg.Compactor = compaction.New(compaction.Config{Store: k.store, Model: k.model, ModelID: "m", Window: k.window, Source: texts{}, Context: string(name)})
		res, err := turn.New(cfg).Run(k.Context(), *c)
		k.must(err)
		if res.State != fika.Done {
			k.Fatalf("a turn of %s is %s: %s; warnings %q", name, res.State, res.Reason, k.warned)
		}
		k.answers[name] = res.Outcome.Answer
	}
}

func (k *talk) accept(kind fika.RequestKind, name fika.AgentName, prompt string) {
	k.Helper()
	_, err := k.store.Accept(k.Context(), store.NewRequest{Kind: kind, Agent: k.leases[name].Agent, Payload: fika.Payload{Prompt: prompt, From: "ann", Writer: fika.ByHuman}})
	k.must(err)
}

func (k *talk) post(room fika.ConversationID, text string, to ...fika.AgentName) fika.Entry {
	k.Helper()
	p, err := k.store.Post(k.Context(), store.Post{Conversation: room, From: "ann", Writer: fika.ByHuman, WriterName: "ann", Content: text, Notify: to})
	k.must(err)
	return p.Entry
}

// checkCost checks that something was compacted, that people were told of it, and that it
// cost no more than a tenth of all tokens.
func (k *talk) checkCost() {
	k.Helper()
	share := 100 * float64(k.server.forSums) / float64(k.server.spent)
	k.Logf("%d compactions of %d summaries, %.1f %% of %d tokens; %d calls refused as too long", k.shown, k.server.summaries, share, k.server.spent, k.server.refused)
	if k.shown == 0 || share > 10 {
		k.Errorf("%d compactions were shown; they took %.1f %% of the tokens", k.shown, share)
	}
}

const someWords = " and then somebody said quite a few words more about the weather of the day, which was fine, and about nothing in particular at all,"

// Trial rows U4, U5: 200 turns in one conversation, with a window that is known or taken for
// far larger, and a server that reports what it counted or nothing: what was said first is
// known at the end, and no refusal reaches the person.
func TestU4AnEndlessConversationGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		wire   llmtest.Wire
		window int64
		quiet  bool
	}{
		"known":                {llmtest.OpenAI, strictWindow, false},
		"nothing is reported":  {llmtest.Anthropic, strictWindow, true},
		"taken for 16 times":   {llmtest.OpenAI, 16 * strictWindow, false},
		"and nothing reported": {llmtest.Anthropic, 16 * strictWindow, true},
	} {
		t.Run(name, func(t *testing.T) {
			k := newTalk(t, c.wire, "arya")
			k.window, k.server.quiet = c.window, c.quiet
			turns := 200
			if testing.Short() {
				turns = 80
			}
			for i := range turns {
				word := fmt.Sprint("point ", i)
				if i < 5 {
					word = fmt.Sprint("remember fact-", i)
				}
				k.accept(fika.AskRequest, "arya", word+strings.Repeat(someWords, 3))
				k.work("arya")
			}
			k.accept(fika.AskRequest, "arya", "what do you know?")
			k.work("arya")
			if got := k.answers["arya"]; got != "fact-0 fact-1 fact-2 fact-3 fact-4" {
				t.Errorf("at the end it knows %q", got)
			}
			if !c.quiet || c.window > strictWindow {
				k.checkCost()
			}
		})
	}
}

// Trial row U4: each agent of a chat compacts its own view; the others and people still
// read everything, and what is pinned stays.
func TestU4AChatOfFourIsCompactedForEachAgentApart(t *testing.T) {
	agents := []fika.AgentName{"a", "b", "c", "d"}
	k := newTalk(t, llmtest.OpenAI, agents...)
	room, err := k.store.CreateChat(t.Context(), "room")
	k.must(err)
	pinned := k.post(room.ID, "the wall is blue, keep that in mind")
	_, err = k.store.Pin(t.Context(), room.ID, pinned.Seq, true)
	k.must(err)
	for i := range 120 {
		word := fmt.Sprintf("@%s point %d", agents[i%4], i)
		if i < 8 {
			word = fmt.Sprintf("@%s remember fact-%d", agents[i%4], i)
		}
		k.post(room.ID, word+someWords+someWords, agents[i%4])
		k.work(agents[i%4])
	}
	seen := map[fika.AgentID]bool{}
	all, err := k.store.Entries(t.Context(), store.EntryQuery{Conversation: room.ID})
	k.must(err)
	for _, e := range all {
		if e.Type == fika.Compaction {
			seen[e.Meta.View] = true
			if !slices.Contains(e.Meta.Kept, pinned.Seq) {
				t.Errorf("compaction %d does not keep the pinned entry", e.Seq)
			}
		}
	}
	for _, name := range agents {
		k.post(room.ID, fmt.Sprintf("@%s what do you know?", name), name)
		k.work(name)
		if got := k.answers[name]; got != "fact-0 fact-1 fact-2 fact-3 fact-4 fact-5 fact-6 fact-7" {
			t.Errorf("%s knows %q", name, got)
		}
		if !seen[k.leases[name].Agent] {
			t.Errorf("the view of %s was never compacted", name)
		}
	}
	if cut, err := k.store.LastCompaction(t.Context(), room.ID, "", 1<<62); err != nil || cut != nil {
		t.Errorf("people read less of the chat: %v, %v", cut, err)
	}
	k.checkCost()
}

// look is a tool with a long result.
type look struct{ result string }

func (look) Spec() tool.Spec {
	return tool.Spec{Name: "look", Description: "looks", Effect: fika.Pure, Parameters: []byte(`{"type":"object"}`)}
}

func (l look) Call(context.Context, tool.Call) (tool.Result, error) {
	return tool.Result{Text: l.result}, nil
}

// Trial row U4: a single task of 60 tool steps is compacted in the middle; so is one with a
// result that no window takes.
func TestU4ATaskOfManyStepsIsCompactedInTheMiddle(t *testing.T) {
	for name, c := range map[string]struct {
		steps int
		size  int
	}{"60 steps": {60, 3}, "huge results": {4, 2000}} {
		t.Run(name, func(t *testing.T) {
			k := newTalk(t, llmtest.OpenAI, "arya")
			steps := 0
			k.server.tool = func(r llmtest.Request) bool { steps++; return steps <= c.steps }
			k.accept(fika.TaskRequest, "arya", "remember fact-1 and look 60 times")
			k.work("arya", look{"the log says fact-2" + strings.Repeat(someWords, c.size)})
			if k.answers["arya"] != "noted" || steps != c.steps+1 {
				t.Errorf("%d steps, then %q", steps, k.answers["arya"])
			}
			if c.steps == 60 {
				k.checkCost()
			}
		})
	}
}

// Trial row U4: whatever goes wrong with a summary, nothing is lost, every turn is answered,
// and no turn asks for one again and again.
func TestAFailedCompactionLosesNothingAndDoesNotLoop(t *testing.T) {
	for name, fail := range map[string]func(summary bool) string{
		"the model fails": func(summary bool) string {
			if summary {
				return "no"
			}
			return ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newTalk(t, llmtest.OpenAI, "arya")
			k.server.fails = fail
			for i := range 60 {
				k.accept(fika.AskRequest, "arya", fmt.Sprint("point ", i)+strings.Repeat(someWords, 4))
				k.work("arya")
			}
			if k.shown != 0 || k.server.down == 0 || k.server.down > 60 {
				t.Errorf("%d compactions, %d failed calls in 60 turns", k.shown, k.server.down)
			}
		})
	}
}
