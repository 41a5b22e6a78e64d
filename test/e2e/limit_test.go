package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"fika"
	"fika/internal/llm/llmtest"
)

// stopped waits until a chat has had so many notices and nothing goes on, and
// gives its messages.
func (h *home) stopped(chat fika.Conversation, notices int) []fika.Entry {
	h.Helper()
	h.untilFor(4*patience, fmt.Sprintf("notice %d", notices), func() bool { return len(h.select_(chat.ID, fika.Notice)) >= notices })
	h.quiet()
	if list := h.select_(chat.ID, fika.Notice); len(list) != notices {
		h.Errorf("%d notices, want %d: the last is %q", len(list), notices, list[len(list)-1].Content)
	}
	return h.messages(chat.ID)
}

// chainOf reads the counters of the chain a message belongs to.
func (h *home) chainOf(e fika.Entry) fika.Chain {
	h.Helper()
	c, err := h.store().Chain(context.Background(), e.Chain)
	h.ok(err)
	return c
}

// TestFullDepth leaves a chain alone: a hundred answers, one notice, and
// silence. It goes on when a person says so, as far again, as often as that is
// said.
func TestFullDepth(t *testing.T) {
	t.Parallel()
	if os.Getenv("FULL") == "" {
		t.Skip("a few hundred hops: make full")
	}
	c := newChain(t, llmtest.OpenAI, 10_000)
	h := newHome(t, config(c.Server, llmtest.OpenAI, "", three...))
	h.must("up")
	chat := h.chat("tale")
	c.begin(h, chat)
	for round := 1; round <= 3; round++ {
		m := h.stopped(chat, round)
		if len(m) != 1+100*round {
			t.Fatalf("round %d: %d messages, want 1 and %d answers", round, len(m), 100*round)
		}
		for i, e := range m[1:] {
			if want := fmt.Sprintf("hop %d", i+2); e.Depth != i%100+1 || !strings.HasSuffix(e.Content, want) {
				t.Fatalf("answer %d has depth %d and says %q, want %q", i+1, e.Depth, e.Content, want)
			}
		}
		if n := len(c.Requests()); n != 100*round {
			t.Errorf("round %d: %d requests to the model for %d answers", round, n, 100*round)
		}
		last := m[len(m)-1]
		if got := h.chainOf(last); got.Turns != 100 || got.LimitHit != "depth" || got.Tokens != 5500 {
			t.Errorf("round %d: the chain is %+v", round, got)
		}
		notice := h.select_(chat.ID, fika.Notice)[round-1]
		if want := "limit reached (100 answers in a row): this chain of messages has stopped; continue with: fika chat continue tale"; notice.Content != want {
			t.Errorf("the notice says %q", notice.Content)
		}
		if round < 3 {
			h.must("chat", "continue", "tale")
		}
	}
	h.settled()
}

// TestLimitsOutliveKills ends every process the hard way in the middle of a
// chain: what was counted stays counted, and the limit is told of once.
func TestLimitsOutliveKills(t *testing.T) {
	t.Parallel()
	everybody := []string{hubWords, agentWords("arya"), agentWords("gendry"), agentWords("hotpie")}
	t.Run("turns", func(t *testing.T) {
		c := newChain(t, llmtest.OpenAI, 10_000)
		h := newHome(t, config(c.Server, llmtest.OpenAI, "[chat]\nmax_turns_per_chain = 7", three...))
		h.must("up")
		chat := h.chat("tale")
		for round, hop := range []int{4, 10} {
			release := c.holds(hop)
			if round == 0 {
				c.begin(h, chat)
			} else {
				h.must("chat", "continue", "tale")
			}
			requestsTo(h, c.Server, 1, asksHop(hop))
			for _, v := range everybody {
				h.kill(v)
			}
			release()
			h.must("up")
			m := h.stopped(chat, round+1)
			if want := 1 + 7*(round+1); len(m) != want {
				t.Errorf("round %d: %d messages, want %d", round, len(m), want)
			}
			if got := h.chainOf(m[len(m)-1]); got.Turns != 7 || got.LimitHit != "turns" {
				t.Errorf("round %d: the chain is %+v", round, got)
			}
		}
		h.settled()
	})
	t.Run("echo", func(t *testing.T) {
		hold := make(chan struct{})
		srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
			s := llmtest.Script{llmtest.Text("You are very welcome, @arya!")}
			if r.Model == "arya" {
				s = llmtest.Script{llmtest.Text("Thank you so much, @gendry. That was kind.")}
			}
			if r.N == 5 {
				return append(llmtest.Script{llmtest.Wait(hold)}, s...)
			}
			return s
		})
		h := newHome(t, config(srv, llmtest.OpenAI, "", three...))
		h.must("up")
		chat := h.chat("tale")
		h.must("chat", "send", "tale", "@arya say thanks to gendry")
		requestsTo(h, srv, 5, func(llmtest.Record) bool { return true })
		for _, v := range everybody {
			h.kill(v)
		}
		close(hold)
		h.must("up")
		if m := h.stopped(chat, 1); len(m) != 7 {
			t.Errorf("%d messages, want 1 and 6 answers", len(m))
		}
		h.must("chat", "continue", "tale")
		if m := h.stopped(chat, 2); len(m) != 13 {
			t.Errorf("%d messages, want 1 and 12 answers", len(m))
		}
		h.settled()
	})
}

// TestEchoOfLetters: two agents that only write to each other by the tool are
// stopped as well when they repeat themselves.
func TestEchoOfLetters(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		if text, ok := answered(r); ok {
			return llmtest.Script{llmtest.Text("it said: " + text)}
		}
		args := map[string]string{
			"arya":   `{"to":"gendry","content":"Thank you so much, that was kind!"}`,
			"gendry": `{"to":"arya","content":"You are very welcome, I have to thank you!"}`,
		}[r.Model]
		return llmtest.Script{llmtest.Call("c1", "send_message", args)}
	})
	h := newHome(t, config(srv, llmtest.OpenAI, "", three...))
	h.must("up")
	h.must("ask", "arya", "thank gendry")
	h.quiet()
	sent, refused := 0, 0
	for _, a := range three[:2] {
		row, err := h.store().Agent(t.Context(), fika.AgentName(a.name))
		h.ok(err)
		for _, e := range h.select_(row.ActiveAsk, fika.Message) {
			switch {
			case e.Meta.Writer == fika.ByAgent && e.Meta.WriterName != a.name:
				sent++
			case strings.Contains(e.Content, "only repeat what you have said to each other (max_echo)"):
				refused++
			}
		}
	}
	if sent != 5 || refused != 1 {
		t.Errorf("%d messages were sent, %d refused; want 5 and the sixth", sent, refused)
	}
	h.settled()
}
