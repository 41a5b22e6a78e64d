package plugin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fika"
	"fika/internal/tool"
)

func TestWhatIsAPlugin(t *testing.T) {
	b := newBench(t)
	outside := filepath.Join(t.TempDir(), "kept")
	open := filepath.Join(t.TempDir(), "open")
	for path, mode := range map[string]os.FileMode{outside: 0o755, open: 0o777} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+simple(filepath.Base(path), "", "")), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	b.add("plain", simple("plain", "", ""))
	b.add("dir/dir", simple("dir", "", ""))
	b.add("script.py", simple("script", "", ""))
	b.add("off.disabled", simple("off", "", ""))
	b.add("offdir.disabled/offdir.disabled", simple("offdir", "", ""))
	b.add(".hidden", simple("hidden", "", ""))
	b.add("plain~", simple("copy", "", ""))
	b.add("data/file", simple("data", "", ""))
	b.add("notexec", simple("notexec", "", ""))
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(b.opts.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		os.Chmod(filepath.Join(b.opts.Dir, "notexec"), 0o644),
		os.WriteFile(filepath.Join(b.opts.Dir, "README.md"), []byte("notes"), 0o644),
		os.MkdirAll(filepath.Join(b.opts.Dir, "opendir"), 0o755),
		os.MkdirAll(filepath.Join(b.opts.Dir, "dirdir", "dirdir"), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	link("data/file", "link")
	link(outside, "linked")
	link(open, "open")
	link(open, "opendir/opendir")
	link(filepath.Dir(outside), "elsewhere")
	link("nowhere", "broken")
	link("loop", "loop")

	got := toolNames(b.open())
	if want := []string{"dir", "data", "kept", "plain", "script"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, words := range [][]string{
		{"open:", "everybody", "chmod o-w"}, {"opendir:", "everybody"}, {"broken:"}, {"loop:"},
		{"notexec:", "chmod +x"}, {"dirdir:", "regular file"},
	} {
		if !b.reported(words...) {
			t.Errorf("no report with %q in %q", words, b.reports)
		}
	}
	if len(b.reports) != 6 {
		t.Errorf("reported %q", b.reports)
	}
}

func TestSchemaForms(t *testing.T) {
	tests := []struct {
		name, printed string
		tools         []string
		report        []string
	}{
		{"object", `{"name":"a","description":"d","parameters":{"type":"object"}}`, []string{"a"}, nil},
		{"array", `[{"name":"a","description":"d","parameters":{}},{"name":"b","description":"d"}]`, []string{"a", "b"}, nil},
		{"byte order mark and space", "\ufeff \n" + `{"name":"a","description":"d"}` + "\n\n", []string{"a"}, nil},
		{"unknown fields", `{"name":"a","description":"d","flow_control":true,"summary_params":["x"]}`, []string{"a"}, nil},
		{"only hooks", `{"name":"a","hooks":["on_start"]}`, nil, nil},
		{"unknown hook", `{"name":"a","description":"d","parameters":{},"hooks":["on_fire"]}`, []string{"a"}, []string{"on_fire"}},
		{"only unknown hooks", `{"name":"a","hooks":["on_fire"]}`, nil, []string{"on_fire", "neither"}},
		{"empty", ``, nil, []string{"printed nothing"}},
		{"no json", `hello`, nil, []string{"JSON object"}},
		{"half json", `{"name":"a"`, nil, []string{"JSON object"}},
		{"two values", `{"name":"a","description":"d"} {}`, nil, []string{"JSON object"}},
		{"a number", `7`, nil, []string{"JSON object"}},
		{"null", `null`, nil, []string{"no description"}},
		{"empty array", `[]`, nil, []string{"neither"}},
		{"array of null", `[null]`, nil, []string{"no description"}},
		{"no name", `{"description":"d"}`, nil, []string{"not a tool name"}},
		{"bad name", `{"name":"rm -rf","description":"d"}`, nil, []string{"not a tool name"}},
		{"no description", `{"name":"a","parameters":{}}`, nil, []string{"description"}},
		{"name is a number", `{"name":1,"description":"d"}`, nil, []string{"name"}},
		{"hooks is a text", `{"name":"a","description":"d","hooks":"on_start"}`, nil, []string{"hooks"}},
		{"parameters is a text", `{"name":"a","description":"d","parameters":"x"}`, nil, []string{"parameters"}},
		{"parameters of an array", `{"name":"a","description":"d","parameters":{"type":"array"}}`, nil, []string{"array", "object"}},
		{"effect", `{"name":"a","description":"d","effect":"harmless"}`, []string{"a"}, []string{"harmless", "unsafe"}},
		{"timeout", `{"name":"a","description":"d","timeout":"soon"}`, nil, []string{"soon", "2m"}},
		{"timeout 0", `{"name":"a","description":"d","timeout":-1}`, nil, []string{"timeout"}},
		{"timeout for ever", `{"name":"a","description":"d","timeout":1e300}`, nil, []string{"timeout"}},
		{"on_failure", `{"name":"a","description":"d","on_failure":"blok"}`, []string{"a"}, []string{"blok", "block is taken"}},
		{"same name twice in one", `[{"name":"a","description":"d"},{"name":"A","description":"e"}]`, []string{"a"}, []string{"belongs to the plugin p already"}},
		{"built-in name", `{"name":"Bash","description":"d"}`, nil, []string{"belongs to fika itself"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.opts.Reserved = []string{"bash"}
			b.add("p", "cat <<'JSON'\n"+tt.printed+"\nJSON\n")
			if got := toolNames(b.open()); !slices.Equal(got, tt.tools) {
				t.Errorf("tools %q, want %q", got, tt.tools)
			}
			switch {
			case tt.report == nil:
				b.quiet()
			case !b.reported(tt.report...):
				t.Errorf("no report with %q in %q", tt.report, b.reports)
			}
		})
	}
}

func TestSpecOfATool(t *testing.T) {
	b := newBench(t)
	b.opts.Settings = map[string]Settings{"mine": {Timeout: 7 * time.Second}}
	b.add("a", simple("plain", "", ""))
	b.add("b", simple("pure", `,"effect":"pure","timeout":90`, ""))
	b.add("c", simple("alone", `,"effect":"pure","parallel":false,"timeout":"2m"`, ""))
	b.add("mine", simple("mine", `,"effect":"idempotent","timeout":90`, ""))
	want := map[string]tool.Spec{
		"plain": {Effect: fika.Unsafe, Timeout: time.Minute + margin}, "pure": {Effect: fika.Pure, Timeout: 90*time.Second + margin},
		"alone": {Effect: fika.Idempotent, Timeout: 2*time.Minute + margin}, "mine": {Effect: fika.Idempotent, Timeout: 7*time.Second + margin},
	}
	got := map[string]tool.Spec{}
	for range 2 { // from the plugin, then from the cache
		for _, tl := range b.open().Tools() {
			s := tl.Spec()
			got[s.Name] = tool.Spec{Effect: s.Effect, Timeout: s.Timeout}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestTwoPluginsWithOneToolName(t *testing.T) {
	b := newBench(t)
	b.add("b", simple("same", "", "echo second"))
	b.add("a", simple("same", "", "echo first"))
	if r := b.call("same", "{}"); r.Text != "first" {
		t.Errorf("got %q", r.Text)
	}
	if !b.reported("b:", "belongs to the plugin a", "rename") {
		t.Errorf("reported %q", b.reports)
	}
}

// A warm cache starts nothing: a plugin that counts its starts proves it.
func TestSchemaCache(t *testing.T) {
	b := newBench(t)
	count := filepath.Join(b.home, "count")
	starts := func() int {
		raw, _ := os.ReadFile(count)
		return strings.Count(string(raw), "x")
	}
	path := b.add("p", "echo x >>"+count+"\n"+simple("one", "", "echo called"))
	for range 3 {
		b.open()
	}
	if starts() != 1 {
		t.Errorf("%d starts for one schema", starts())
	}
	if r := b.call("one", "{}"); r.Text != "called" || starts() != 2 {
		t.Errorf("%q after %d starts", r.Text, starts())
	}

	b.add("p", "echo x >>"+count+"\n"+simple("two", "", ""))
	if got := toolNames(b.open()); !slices.Equal(got, []string{"two"}) || starts() != 3 {
		t.Errorf("after a change: %q, %d starts", got, starts())
	}
	// The same size and another time.
	if err := os.Chtimes(path, time.Time{}, time.Unix(1, 5)); err != nil {
		t.Fatal(err)
	}
	b.open()
	if starts() != 4 {
		t.Errorf("after a touch: %d starts", starts())
	}
	for name, broken := range map[string]string{"broken": "{", "old": `{"version":0,"plugins":{}}`, "null": `{"version":1,"plugins":null}`} {
		before := starts()
		if err := os.WriteFile(b.opts.CacheFile, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := toolNames(b.open()); !slices.Equal(got, []string{"two"}) || starts() != before+1 {
			t.Errorf("%s cache: %q, %d starts", name, got, starts()-before)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := toolNames(b.open()); got != nil {
		t.Errorf("a plugin that is gone gives %q", got)
	}
	if raw, _ := os.ReadFile(b.opts.CacheFile); strings.Contains(string(raw), path) {
		t.Errorf("the cache keeps what is gone: %s", raw)
	}
	b.quiet()
}

func TestCacheThatCannotBeWritten(t *testing.T) {
	b := newBench(t)
	b.opts.CacheFile = filepath.Join(b.home, "file", "plugins.json")
	if err := os.WriteFile(filepath.Join(b.home, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.add("p", simple("p", "", ""))
	if got := toolNames(b.open()); len(got) != 1 || !b.reported("cache") {
		t.Errorf("tools %q, reports %q", got, b.reports)
	}
}

func TestHostileSchemas(t *testing.T) {
	t.Parallel()
	var b *bench
	span := time.Second // in which those that do not hang must have answered: more where they do not
	for ; b == nil || b.reported("took too long", "ok:") || b.reported("took too long", "fails:") || b.reported("took too long", "nested:"); span *= 10 {
		if span > patience {
			t.Fatalf("no span is long enough: %q", b.reports)
		}
		b = newBench(t)
		b.opts.SchemaTimeout = span
		b.add("deaf", `trap "" TERM; sleep 600; sleep 600`)
		b.add("fails", `echo "no such module" >&2; exit 9`)
		b.add("hangs", `sleep 600`)
		b.add("huge", `head -c 100000000 /dev/zero | tr '\0' '['`)
		b.add("nested", `head -c 500000 /dev/zero | tr '\0' '['`)
		b.add("noshebang", "#!/nonexistent/interpreter\n")
		b.add("ok", simple("ok", "", ""))
		if err := os.WriteFile(filepath.Join(b.opts.Dir, "text"), []byte("just text"), 0o755); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if got := toolNames(b.open()); !slices.Equal(got, []string{"ok"}) && !b.reported("took too long", "ok:") {
			t.Errorf("tools %q", got)
		}
		if d := time.Since(start); d > patience {
			t.Errorf("took %v", d)
		}
	}
	b.opts.SchemaTimeout = patience
	for _, words := range [][]string{
		{"deaf:", "took too long"}, {"hangs:", "took too long"}, {"fails:", "exit status 9: no such module"},
		{"huge:"}, {"nested:", "JSON"}, {"noshebang:", "#! line"}, {"text:", "#!/bin/sh"},
	} {
		if !b.reported(words...) {
			t.Errorf("no report with %q in %q", words, b.reports)
		}
	}
	// What cost time is not tried again at once; what is mended is.
	b.reports = nil
	b.add("hangs", simple("hangs", "", ""))
	if got := toolNames(b.open()); !slices.Equal(got, []string{"hangs", "ok"}) {
		t.Errorf("tools %q", got)
	}
	if !b.reported("deaf:", "fika plugin check deaf") || b.reported("hangs:") {
		t.Errorf("reported %q", b.reports)
	}
}

func TestOpenIsCancelled(t *testing.T) {
	b := newBench(t)
	b.add("hangs", `sleep 300`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, b.opts); !fika.IsKind(err, fika.Interrupted) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(b.opts.CacheFile); !os.IsNotExist(err) {
		t.Errorf("a cancelled start left a cache: %v", err)
	}
}

func FuzzParseSchema(f *testing.F) {
	f.Add(`{"name":"a","description":"d","parameters":{"type":"object"},"hooks":["on_start"],"timeout":"2m"}`)
	f.Add(`[{"name":"a","description":"d"},null]`)
	f.Fuzz(func(t *testing.T, raw string) {
		s, err := parseSchema([]byte(raw))
		if (s == nil) == (err == nil) {
			t.Fatalf("%q: %v and %v", raw, s, err)
		}
		if err == nil && len(s.Tools)+len(s.Hooks) == 0 {
			t.Fatalf("%q: nothing, and no error", raw)
		}
	})
}

func BenchmarkOpen20Cached(b *testing.B) {
	w := newBench(b)
	for i := range 20 {
		w.add(fmt.Sprintf("p%d", i), simple(fmt.Sprintf("tool_%d", i), `,"hooks":["on_start"],"x":"`+strings.Repeat("y", 500)+`"`, ""))
	}
	w.open()
	for b.Loop() {
		p, err := Open(b.Context(), w.opts)
		if err != nil || len(p.Tools()) != 20 {
			b.Fatal(err, len(w.reports))
		}
	}
}
