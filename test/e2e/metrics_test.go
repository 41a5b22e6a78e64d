package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"fika/internal/llm"
	"fika/internal/llm/llmtest"
)

// needs returns the path of a program, or skips the test. With CI=true a missing one is a
// failure.
func needs(t *testing.T, program string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes its time: make check")
	}
	path, err := exec.LookPath(program)
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip("no " + program)
	}
	return path
}

// metricsHome is a home whose hub shows its figures, with an agent that has called a tool and
// answered, and one whose tool call waits for a person.
type metricsHome struct {
	*home
	token string
	port  int
}

func newMetricsHome(t *testing.T) *metricsHome {
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		if last := r.Messages[len(r.Messages)-1]; last.Role == llm.ToolRole {
			return llmtest.Script{llmtest.Text("done"), llmtest.Usage(1000, 10)}
		}
		command := "echo hello"
		if r.Model == "bran" {
			command = "touch asked"
		}
		args, _ := json.Marshal(map[string]string{"command": command}) // of strings it cannot fail
		return llmtest.Script{llmtest.Call("a", "bash", string(args)), llmtest.Usage(1234, 56)}
	})
	text := config(srv, llmtest.OpenAI, "[doors]\nmetrics = true\n[[rules]]\ntool = \"bash\"\nmatch = \"touch *\"\ndo = \"ask\"\nwhy = \"look first\"",
		agent{name: "arya", tools: `"bash"`}, agent{name: "bran", tools: `"bash"`})
	text = strings.ReplaceAll(text, "[[models]]\n", "[[models]]\nprices = {input = 3.0, output = 15.0, cached = 0.3, cache_write = 3.75}\n")
	h := &metricsHome{home: newHome(t, text)}
	h.token = strings.TrimSpace(h.must("token", "create", "prometheus", "--door", "metrics"))
	h.must("up")
	h.must("ask", "arya", "work")
	h.chat("room")
	h.must("chat", "send", "room", "@bran work")
	h.until("bran asks", func() bool { return strings.Contains(h.must("approve", "--json"), "touch asked") })
	h.until("the hub listens", func() bool {
		var place struct{ Port, PID int }
		data, err := os.ReadFile(filepath.Join(h.dir, "run", "web", "place.json"))
		if err != nil || json.Unmarshal(data, &place) != nil || place.PID == 0 {
			return false
		}
		h.port = place.Port
		return true
	})
	return h
}

// metrics returns what the hub shows.
func (h *metricsHome) metrics() string {
	h.Helper()
	r, err := http.NewRequest("GET", fmt.Sprintf("http://127.0.0.1:%d/metrics", h.port), nil)
	h.ok(err)
	r.Header.Set("Authorization", "Bearer "+h.token)
	answer, err := http.DefaultClient.Do(r)
	h.ok(err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	h.ok(err)
	if answer.StatusCode != http.StatusOK {
		h.Fatalf("%d %s", answer.StatusCode, body)
	}
	return string(body)
}

var sampleLine = regexp.MustCompile(`(?m)^([a-z_]+(?:\{[^}]*\})?) ([0-9.]+)$`)

// samples returns the values of metrics by name and labels.
func samples(text string) map[string]float64 {
	out := map[string]float64{}
	for _, m := range sampleLine.FindAllStringSubmatch(text, -1) {
		out[m[1]], _ = strconv.ParseFloat(m[2], 64)
	}
	return out
}

// spent returns what fika usage says was spent, in millionths of a dollar.
func (h *metricsHome) spent() (sum int64) {
	h.Helper()
	for line := range strings.Lines(h.must("usage", "--json")) {
		var row struct {
			Cost *float64 `json:"cost_usd"`
		}
		h.ok(json.Unmarshal([]byte(line), &row))
		if row.Cost != nil {
			sum += int64(math.Round(*row.Cost * 1e6))
		}
	}
	return sum
}

// TestMetrics: what the hub shows is what promtool takes for metrics, agrees with fika usage
// to a millionth of a dollar, and does not fall when the hub is killed and a conversation
// deleted.
func TestMetrics(t *testing.T) {
	t.Parallel()
	promtool := needs(t, "promtool")
	h := newMetricsHome(t)
	text := h.metrics()
	check := exec.Command(promtool, "check", "metrics")
	check.Stdin = strings.NewReader(text)
	if out, err := check.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("promtool: %v\n%s\nof\n%s", err, out, text)
	}
	before := samples(text)
	var cost float64
	for name, n := range before {
		if strings.HasPrefix(name, "fika_cost_dollars_total") {
			cost += n
		}
	}
	if spent := h.spent(); spent == 0 || int64(math.Round(cost*1e6)) != spent {
		t.Errorf("metrics say %f dollars, fika usage %d millionths", cost, spent)
	}
	for name, want := range map[string]float64{
		`fika_requests_total{agent="arya",outcome="done"}`: 1, `fika_requests_total{agent="bran",outcome="done"}`: 0,
		`fika_tool_calls_total{agent="arya",tool="bash",outcome="ok"}`: 1, `fika_approvals{agent="bran"}`: 1, `fika_agent_up{agent="arya"}`: 1,
		`fika_requests{agent="bran",outcome="waiting"}`: 1, `fika_paused`: 0, `fika_store_info{engine="sqlite"}`: 1,
	} {
		if got, found := before[name]; !found || got != want {
			t.Errorf("%s is %v (%v), want %v", name, got, found, want)
		}
	}
	h.kill("up")
	h.must("up")
	h.must("ask", "arya", "work")
	h.chat("side")
	h.must("chat", "send", "side", "hello")
	h.must("chat", "delete", "side", "--yes")
	var after map[string]float64
	h.until("the page is back", func() bool {
		answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/healthz", h.port))
		if err != nil {
			return false
		}
		return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	})
	after = samples(h.metrics())
	for name, n := range before {
		if metric, _, _ := strings.Cut(name, "{"); strings.HasSuffix(metric, "_total") && after[name] < n {
			t.Errorf("%s falls from %v to %v", name, n, after[name])
		}
	}
	if got := after[`fika_requests_total{agent="arya",outcome="done"}`]; got != 2 {
		t.Errorf("%v requests after another", got)
	}
}

// TestMetricsInPrometheus: Debian's Prometheus takes the rules, and has an answer for every
// query of the board.
func TestMetricsInPrometheus(t *testing.T) {
	t.Parallel()
	prometheus, promtool := needs(t, "prometheus"), needs(t, "promtool")
	h := newMetricsHome(t)
	rules, err := filepath.Abs("../../share/alerts.yml")
	h.ok(err)
	if out, err := exec.Command(promtool, "check", "rules", rules).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
	dir := t.TempDir()
	h.ok(os.WriteFile(filepath.Join(dir, "token"), []byte(h.token), 0o600))
	h.ok(os.WriteFile(filepath.Join(dir, "prometheus.yml"), fmt.Appendf(nil, `global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
  - job_name: fika
    authorization: {credentials_file: %q}
    static_configs: [{targets: ["127.0.0.1:%d"]}]
`, rules, filepath.Join(dir, "token"), h.port), 0o600))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	h.ok(err)
	at := l.Addr().String()
	h.ok(l.Close())
	cmd := exec.Command(prometheus, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+at)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	h.ok(cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	get := func(path string, out any) error {
		answer, err := http.Get("http://" + at + path)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		return json.NewDecoder(answer.Body).Decode(out)
	}
	query := func(expr string) (found bool, failed string) {
		var out struct {
			Error string
			Data  struct{ Result []json.RawMessage }
		}
		if err := get("/api/v1/query?query="+url.QueryEscape(expr), &out); err != nil {
			return false, err.Error()
		}
		return len(out.Data.Result) > 0, out.Error
	}
	h.untilFor(time.Minute, "prometheus has asked twice", func() bool {
		found, _ := query(`count_over_time(up{job="fika"}[1m]) > 2 and on () (min_over_time(up{job="fika"}[2s]) == 1)`)
		return found
	})
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	data, err := os.ReadFile("../../share/grafana.json")
	h.ok(err)
	h.ok(json.Unmarshal(data, &board))
	n := 0
	for _, p := range board.Panels {
		for _, q := range p.Targets {
			n++
			if found, failed := query(q.Expr); !found {
				t.Errorf("%s: %s has no answer: %s", p.Title, q.Expr, failed)
			}
		}
	}
	if n < 10 {
		t.Errorf("the board has %d queries", n)
	}
	var groups struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	h.untilFor(time.Minute, "the rules are evaluated", func() bool {
		return get("/api/v1/rules", &groups) == nil && len(groups.Data.Groups) == 1 && groups.Data.Groups[0].Rules[0].Health != "unknown"
	})
	for _, r := range groups.Data.Groups[0].Rules {
		if r.Health != "ok" {
			t.Errorf("%s: %s %s", r.Name, r.Health, r.LastError)
		}
	}
}
