package plugin

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fika"
	"fika/internal/extension/hook"
)

func TestHookGetsItsEnvironment(t *testing.T) {
	b := newBench(t)
	out := filepath.Join(b.home, "out")
	b.add("h", onHook(`"pre_tool"`, "", `env >`+out+`; echo '{}'`))
	payload := hook.Payload{"tool_name": "bash", "arguments": json.RawMessage(`{"command":"ls","n":2,"deep":{}}`), "context_name": "here", "verbose": true}
	got, err := b.fire(hook.PreTool, payload)
	if err != nil || !cmp.Equal(got, payload) {
		t.Errorf("got %v, %v", got, err)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	env := "\n" + string(raw)
	for _, want := range []string{
		"FIKA_HOOK=pre_tool", "CHIBI_HOOK=pre_tool", "FIKA_HOOK_tool_name=bash", "FIKA_HOOK_verbose=true",
		"FIKA_ARG_command=ls", "FIKA_ARG_n=2", "FIKA_CONTEXT=here", "FIKA_AGENT=default", "FIKA_HOME=" + b.home,
		`FIKA_HOOK_DATA={"arguments":{"command":"ls","n":2,"deep":{}},"context_name":"here","tool_name":"bash","verbose":true}`,
		`CHIBI_HOOK_DATA={"arguments":{"command":"ls","n":2,"deep":{}},"context_name":"here","tool_name":"bash","verbose":true}`,
	} {
		if !strings.Contains(env, "\n"+want+"\n") {
			t.Errorf("no %q in:\n%s", want, env)
		}
	}
	for _, never := range []string{"TOOL_ARGS", "TOOL_NAME=", "SECRET", "FIKA_STEP"} {
		if strings.Contains(env, never) {
			t.Errorf("%q in:\n%s", never, env)
		}
	}
}

func TestLargeHookDataIsInAFile(t *testing.T) {
	b := newBench(t)
	out := filepath.Join(b.home, "out")
	b.add("h", onHook(`"post_tool"`, "", `echo "[$FIKA_HOOK_DATA$CHIBI_HOOK_DATA$FIKA_HOOK_result]$FIKA_HOOK_tool_name $(wc -c <"$FIKA_HOOK_DATA_FILE")" >`+out))
	if _, err := b.fire(hook.PostTool, hook.Payload{"tool_name": "read", "result": strings.Repeat("x", 1<<20), "arguments": map[string]any{"a": 1}}); err != nil {
		t.Fatal(err)
	}
	if raw, _ := os.ReadFile(out); string(raw) != "[]read 1048628\n" {
		t.Errorf("got %q", raw)
	}
	b.quiet()
}

// answers makes one plugin for each answer, in this order.
func answers(b *bench, point hook.Point, more string, texts ...string) {
	for i, text := range texts {
		b.add(fmt.Sprintf("h%d", i), onHook(`"`+string(point)+`"`, more, "cat <<'JSON'\n"+text+"\nJSON"))
	}
}

func TestAnswersAreMerged(t *testing.T) {
	type P = hook.Payload
	tests := []struct {
		name    string
		point   hook.Point
		payload P
		answers []string
		want    P
		report  string // "": quiet
	}{
		{"nothing", hook.PreMessage, P{"prompt": "p"}, []string{"", "{}", "null", "  \n"}, P{"prompt": "p"}, ""},
		{"prompt", hook.PreMessage, P{"prompt": "p"}, []string{`{"prompt":"q"}`}, P{"prompt": "q"}, ""},
		{"the last prompt", hook.PreMessage, P{"prompt": "p"}, []string{`{"prompt":"q"}`, `{}`, `{"prompt":"r"}`}, P{"prompt": "r"}, ""},
		{"an empty prompt", hook.PreMessage, P{"prompt": "p"}, []string{`{"prompt":" "}`}, P{"prompt": "p"}, "wrong prompt"},
		{"a prompt that is a number", hook.PreMessage, P{"prompt": "p"}, []string{`{"prompt":1}`}, P{"prompt": "p"}, "wrong prompt"},
		{"what is not honoured", hook.PreMessage, P{"prompt": "p"}, []string{`{"summary":"s","x":1}`}, P{"prompt": "p"}, ""},
		{"not even looked at", hook.OnEnd, P{"current_context": "c"}, []string{"hello", `{"current_context":"d"}`}, P{"current_context": "c"}, ""},
		{"no json", hook.PreMessage, P{"prompt": "p"}, []string{"hello", `{"prompt":"q"}`}, P{"prompt": "q"}, "not a JSON object"},
		{"an array", hook.PreMessage, P{"prompt": "p"}, []string{`[{"prompt":"q"}]`}, P{"prompt": "p"}, "not a JSON object"},
		{"inject", hook.PostSystemPrompt, P{"todos": "t"}, []string{`{"inject":"a\n"}`, `{"inject":""}`, `{"inject":"b"}`}, P{"todos": "t", "inject": "a\n\nb"}, ""},
		{"inject nothing", hook.PreSystemPrompt, P{}, []string{`{"inject":null}`}, P{}, ""},
		{"arguments", hook.PreTool, P{"tool_name": "x", "arguments": json.RawMessage(`{"a":1}`)}, []string{`{"arguments":{"a":12345678901234567890}}`}, P{"tool_name": "x", "arguments": json.RawMessage(`{"a":12345678901234567890}`)}, ""},
		{"arguments that are a text", hook.PreTool, P{"arguments": json.RawMessage(`{}`)}, []string{`{"arguments":"{}"}`}, P{"arguments": json.RawMessage(`{}`)}, "wrong arguments"},
		{"block", hook.PreTool, P{"tool_name": "x"}, []string{`{"block":true,"message":"no"}`, `{"message":"never asked"}`}, P{"tool_name": "x", "block": true, "message": "no"}, ""},
		{"no block", hook.PreTool, P{"tool_name": "x"}, []string{`{"block":false}`}, P{"tool_name": "x", "block": false}, ""},
		{"first to deliver", hook.PreSendMessage, P{"to": "x"}, []string{`{}`, `{"delivered":true,"via":"post"}`, `{"delivered":true,"via":"pigeon"}`}, P{"to": "x", "delivered": true, "via": "post"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			answers(b, tt.point, "", tt.answers...)
			before := fmt.Sprint(tt.payload)
			got, err := b.fire(tt.point, tt.payload)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if fmt.Sprint(tt.payload) != before {
				t.Errorf("the payload given was changed: %v", tt.payload)
			}
			if tt.report == "" {
				b.quiet()
			} else if !b.reported(tt.report) {
				t.Errorf("reported %q", b.reports)
			}
		})
	}
}

func TestHooksChain(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"1", "2", "3"} {
		b.add(name, onHook(`"pre_message"`, "", `printf '{"prompt":"%s"}' "${FIKA_HOOK_prompt}`+name+`"`))
	}
	b.add("4", onHook(`"post_message"`, "", `echo '{"prompt":"never"}'`))
	got, err := b.fire(hook.PreMessage, hook.Payload{"prompt": "p"})
	if err != nil || got["prompt"] != "p123" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestFailingHooks(t *testing.T) {
	tests := []struct{ name, more, body, report string }{
		{"exit status", "", "echo '{\"prompt\":\"lost\"}'; echo why >&2; exit 4", "exit status 4: why"},
		{"signal", "", "kill -9 $$", "signal"},
		{"timeout", `,"timeout":0.5`, "sleep 300", "took too long"},
		{"no json", "", "echo oops", "not a JSON object"},
		{"half json", "", "echo '{\"prompt\":'", "not a JSON object"},
		{"wrong type", "", "echo '{\"prompt\":[]}'", "wrong prompt"},
		{"too much", "", "head -c 3000000 /dev/zero | tr '\\0' ' '; echo '{\"prompt\":\"late\"}'", "bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.add("a", onHook(`"pre_message"`, tt.more, tt.body))
			b.add("b", onHook(`"pre_message"`, "", `printf '{"prompt":"%s!"}' "$FIKA_HOOK_prompt"`))
			got, err := b.fire(hook.PreMessage, hook.Payload{"prompt": "p"})
			if err != nil || got["prompt"] != "p!" {
				t.Errorf("skipped: got %v, %v", got, err)
			}
			if !b.reported("a:", tt.report) {
				t.Errorf("reported %q", b.reports)
			}

			b = newBench(t)
			b.add("a", onHook(`"pre_message"`, tt.more+`,"on_failure":"block"`, tt.body))
			if _, err = b.fire(hook.PreMessage, hook.Payload{"prompt": "p"}); !fika.IsKind(err, fika.Denied) {
				t.Errorf("block: got %v", err)
			}
		})
	}
}

// A guard whose answer cannot be understood does not open.
func TestBlockMustBeATruthValue(t *testing.T) {
	b := newBench(t)
	answers(b, hook.PreTool, `,"on_failure":"block"`, `{"block":"true"}`)
	if _, err := b.fire(hook.PreTool, hook.Payload{"tool_name": "bash"}); !fika.IsKind(err, fika.Denied) {
		t.Errorf("got %v", err)
	}
}

func TestGuardThatIsRemovedWhileRunning(t *testing.T) {
	b := newBench(t)
	path := b.add("guard", onHook(`"pre_tool"`, `,"on_failure":"block"`, "echo '{}'"))
	p := b.open()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Fire(t.Context(), hook.PreTool, hook.Payload{}); !fika.IsKind(err, fika.Denied) {
		t.Errorf("got %v", err)
	}
}

// A guard that was edited into something broken still guards.
func TestGuardThatCannotDescribeItself(t *testing.T) {
	for name, broken := range map[string]string{"fails": "exit 1", "hangs": "sleep 300", "no json": "echo {"} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.add("guard", simple("t", `,"hooks":["pre_tool"],"on_failure":"block"`, "echo '{}'"))
			b.add("other", simple("other", `,"hooks":["pre_tool"]`, ""))
			b.open()
			if name == "hangs" {
				b.opts.SchemaTimeout = 100 * time.Millisecond
			}
			b.add("guard", broken)
			b.add("other", broken)
			for range 2 { // the second time from the cache
				p := b.open()
				if names := toolNames(p); names != nil {
					t.Errorf("tools: %q", names)
				}
				if _, err := p.Fire(t.Context(), hook.PreTool, hook.Payload{}); !fika.IsKind(err, fika.Denied) {
					t.Errorf("got %v", err)
				}
				if _, err := p.Fire(t.Context(), hook.OnEnd, hook.Payload{}); err != nil {
					t.Error(err)
				}
			}
			if err := os.Remove(filepath.Join(b.opts.Dir, "guard")); err != nil {
				t.Fatal(err)
			}
			if _, err := b.fire(hook.PreTool, hook.Payload{}); !fika.IsKind(err, fika.Denied) {
				t.Errorf("its file is gone, and nobody removed it: %v", err)
			}
			for _, plugin := range []string{"guard", "other"} {
				if known, err := ForgetSchema(b.opts.CacheFile, plugin); !known || err != nil {
					t.Errorf("forget %s: %v %v", plugin, known, err)
				}
			}
			if err := os.Remove(filepath.Join(b.opts.Dir, "other")); err != nil {
				t.Fatal(err)
			}
			if _, err := b.fire(hook.PreTool, hook.Payload{}); err != nil {
				t.Errorf("both were removed: %v", err)
			}
		})
	}
}

func TestArrayPluginHearsAPointOnce(t *testing.T) {
	b := newBench(t)
	b.add("h", `if [ "$1" = --schema ]; then echo '[{"name":"a","description":"d","hooks":["post_system_prompt"]},{"name":"b","description":"d","hooks":["post_system_prompt","on_end"]}]'; exit 0; fi
echo '{"inject":"x"}'`)
	got, err := b.fire(hook.PostSystemPrompt, hook.Payload{})
	if err != nil || got["inject"] != "x" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestEveryHookPointFires(t *testing.T) {
	b := newBench(t)
	out := filepath.Join(b.home, "out")
	var names []string
	for _, d := range hook.Points() {
		names = append(names, `"`+string(d.Point)+`"`)
	}
	b.add("h", onHook(strings.Join(names, ","), "", `echo "$FIKA_HOOK" >>`+out))
	p := b.open()
	for _, d := range hook.Points() {
		payload := hook.Payload{}
		for _, key := range d.Payload {
			payload[key] = "v"
		}
		if _, err := p.Fire(t.Context(), d.Point, payload); err != nil {
			t.Error(err)
		}
	}
	raw, _ := os.ReadFile(out)
	if got := strings.Fields(string(raw)); len(got) != len(names) {
		t.Errorf("fired: %q", got)
	}
	b.quiet()
}

func FuzzMerge(f *testing.F) {
	f.Add(`{"block":true,"arguments":{},"message":"x"}`)
	f.Add(`{"inject":"a","prompt":"b","delivered":true}`)
	f.Add(`[`)
	f.Fuzz(func(t *testing.T, answer string) {
		for _, d := range hook.Points() {
			payload := hook.Payload{"arguments": json.RawMessage(`{}`), "prompt": "p"}
			out, err := mergeAnswer(d.Point, payload, []byte(answer))
			if len(payload) != 2 || payload["prompt"] != "p" {
				t.Fatalf("%s: the payload was changed by %q", d.Point, answer)
			}
			if err == nil {
				if _, err := json.Marshal(out); err != nil {
					t.Fatalf("%s: %q gives what cannot be handed on: %v", d.Point, answer, err)
				}
			}
		}
	})
}
