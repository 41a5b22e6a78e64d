package turn_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"fika"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/turn"
)

// halves are the beginnings of an answer on each wire, with as much of the usage as the
// provider reports before the end.
var halves = map[string]string{
	"openai": `data: {"choices":[{"index":0,"delta":{"content":"It was a dark"}}],"usage":{"prompt_tokens":700,"completion_tokens":7}}`,
	"responses": `data: {"type":"response.created","response":{"status":"in_progress"}}` + "\n\n" +
		`data: {"type":"response.output_text.delta","output_index":0,"delta":"It was a dark"}`,
	"anthropic": `data: {"type":"message_start","message":{"usage":{"input_tokens":700,"output_tokens":7}}}` + "\n\n" +
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"It was a dark"}}`,
	"gemini": `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"It was a dark"}]}}],"usageMetadata":{"promptTokenCount":700,"candidatesTokenCount":7}}`,
}

// TestInterruptedOnEveryWire: what a provider had sent of an answer when a person interrupted it
// is kept with a note by whom, what it had reported is counted, and strict servers of all
// four wires accept the next prompt, which asks for the stopped work no more.
func TestInterruptedOnEveryWire(t *testing.T) {
	strict := strictProviders(t)
	for name, wire := range plainWires() {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, halves[name]+"\n\n")
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}))
			t.Cleanup(s.Close)
			w := newWorld(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			cfg := w.config()
			cfg.Model = wire.open(s.URL)
			cfg.Observer = turn.ObserverFunc(func(e turn.Event) {
				if e.Kind == turn.Text {
					cancel(errors.New("interrupted by ann: enough"))
				}
			})
			c := w.ask("write a novel")
			res, err := turn.New(cfg).Run(ctx, c)
			w.ok(err)
			if res.State != fika.Cancelled {
				t.Fatalf("%+v", res)
			}
			if want := strings.Contains(halves[name], "700"); want != (res.Outcome.Usage.Input == 700) {
				t.Errorf("counted %+v", res.Outcome.Usage)
			}
			if chain, err := w.store.Chain(t.Context(), c.Request.Chain); err != nil || chain.Tokens != res.Outcome.Usage.Input+res.Outcome.Usage.Output {
				t.Errorf("the chain has %d tokens of %+v, %v", chain.Tokens, res.Outcome.Usage, err)
			}
			w.model.answer = func(ctx context.Context, _ int, r llm.Request) (llm.Response, error) {
				return strict[name].Generate(ctx, r, func(llm.Event) error { return nil })
			}
			if res := w.run(w.ask("what is two and two?")); res.State != fika.Done {
				t.Fatalf("%+v", res)
			}
			var seen []string
			for _, m := range w.model.asked[0].Messages {
				seen = append(seen, string(m.Role)+": "+m.Text)
			}
			want := []string{
				"user: write a novel", "assistant: It was a dark", "user: (interrupted by ann: do not go on with this unless you are asked to)",
				"user: what is two and two?",
			}
			if !slices.Equal(seen, want) {
				t.Errorf("the next prompt is %q", seen)
			}
		})
	}
}

// TestInterruptionsStandWhereTheyBelong: in a chat, what was said after the interrupted message
// is not interrupted, although it was said before; what was dropped with it is.
func TestInterruptionsStandWhereTheyBelong(t *testing.T) {
	w := newWorld(t)
	chat, err := w.store.CreateChat(t.Context(), "tale")
	w.ok(err)
	say := func(text string) {
		t.Helper()
		_, err := w.store.Post(t.Context(), store.Post{Conversation: chat.ID, From: "ann", Writer: fika.ByHuman, Content: text, Notify: []fika.AgentName{"arya"}})
		w.ok(err)
	}
	interrupt := func(c store.Claimed) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cfg := w.config()
		cfg.Model = cutShort{cancel}
		_, err := turn.New(cfg).Run(ctx, c)
		w.ok(err)
	}
	say("@arya one")
	first := w.claim()
	say("@arya two")
	interrupt(first)
	no := "(@arya was interrupted by the user: do not go on with this unless you are asked to)"
	got := w.shown(w.claim(), nil)
	if want := []string{"[ann] @arya one", "It was a dark", no, "[ann] @arya two"}; !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
	say("@arya three")
	third := w.claim()
	say("@arya four")
	say("@arya five")
	_, err = w.store.StopChat(t.Context(), chat.ID, store.InterruptedBy+"ann")
	w.ok(err)
	_, err = w.store.Finish(t.Context(), third.Fence, store.Finish{State: fika.Cancelled, Reason: store.InterruptedBy + "ann", Partial: "It was"})
	w.ok(err)
	say("@arya six")
	got = w.shown(w.claim(), nil)
	want := []string{
		"[ann] @arya three", "It was", strings.Replace(no, "the user", "ann", 1), "[ann] @arya four", "[ann] @arya five",
		"(2 messages for @arya dropped: interrupted by ann: do not go on with this unless you are asked to)", "[ann] @arya six",
	}
	if !slices.Equal(got[len(got)-len(want):], want) {
		t.Errorf("%q", got)
	}
}
