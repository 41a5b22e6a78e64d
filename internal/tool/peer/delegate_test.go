package peer

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/tool"
	"fika/internal/tool/tooltest"
)

func delegator() *Delegate {
	return &Delegate{Find: find, Default: 10 * time.Minute, Max: time.Hour, MaxDepth: 5, Limits: tool.Limits{Head: 20, Tail: 20}}
}

func TestDelegateKeepsTheContract(t *testing.T) {
	tooltest.Run(t, tooltest.Case{Tool: delegator(), Bad: []string{`{"agent":"bob","prompt":"x"}`}})
}

func TestADelegationSaysWhoAndHowLong(t *testing.T) {
	for args, want := range map[string]time.Duration{
		`{"agent":"bob","prompt":"x"}`:                    10 * time.Minute,
		`{"agent":"bob","prompt":"x","deadline":90}`:      90 * time.Second,
		`{"agent":"bob","prompt":"x","deadline":1.5}`:     1500 * time.Millisecond,
		`{"agent":"bob","prompt":"x","deadline":"120"}`:   2 * time.Minute,
		`{"agent":"bob","prompt":"x","deadline":" 1h "}`:  time.Hour,
		`{"agent":"bob","prompt":"x","deadline":"3m30s"}`: 3*time.Minute + 30*time.Second,
	} {
		d, err := delegator().Delegate(t.Context(), callOf(args))
		if err != nil || d.Deadline != want || d.Agent != "id-bob" || d.Prompt != "x" {
			t.Errorf("%s: %+v, %v", args, d, err)
		}
	}
}

func TestWhatIsNotDelegated(t *testing.T) {
	deep := callOf(`{"agent":"bob","prompt":"x"}`)
	deep.Depth = 4
	for words, c := range map[string]tool.Call{
		"did you mean":        callOf(`{"agent":"bop","prompt":"x"}`),
		"that is you":         callOf(`{"agent":"ann","prompt":"x"}`),
		"empty":               callOf(`{"agent":"bob","prompt":" "}`),
		"65536":               callOf(`{"agent":"bob","prompt":"` + strings.Repeat("x", maxMessage+1) + `"}`),
		"max_depth":           deep,
		"at most 1h":          callOf(`{"agent":"bob","prompt":"x","deadline":"2h"}`),
		"be at most 1h":       callOf(`{"agent":"bob","prompt":"x","deadline":"1e8"}`),
		"at least one second": callOf(`{"agent":"bob","prompt":"x","deadline":0}`),
		"one second":          callOf(`{"agent":"bob","prompt":"x","deadline":"-5m"}`),
		"least one":           callOf(`{"agent":"bob","prompt":"x","deadline":"NaN"}`),
		"number of seconds":   callOf(`{"agent":"bob","prompt":"x","deadline":"soon"}`),
		"prompt":              callOf(`{"agent":"bob"}`),
	} {
		_, err := delegator().Delegate(t.Context(), c)
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("want %q, got %v", words, err)
		}
	}
}

func TestReportsSayWhatCameOfATask(t *testing.T) {
	begun := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	task := func(s fika.RequestState, reason string, change func(*fika.Request)) fika.Request {
		r := fika.Request{ID: "r1", State: s, Reason: reason, CreatedAt: begun, StartedAt: begun, FinishedAt: begun.Add(time.Second), Deadline: begun.Add(10 * time.Minute)}
		if change != nil {
			change(&r)
		}
		return r
	}
	for want, r := range map[string]fika.Request{
		"@bob failed: no key (request r1)":                                                                                                   task(fika.RequestFailed, "no key", nil),
		"@bob was stopped by a limit: 200 turns (request r1)":                                                                                task(fika.RequestFailed, "limit", func(r *fika.Request) { r.Outcome = fika.Outcome{Error: "200 turns", ErrorKind: fika.Limit} }),
		"@bob has no answer: the task was cancelled (by hand) (request r1)":                                                                  task(fika.Cancelled, "by hand", nil),
		"@bob had no answer within 10m; the task was cancelled at its deadline (request r1)":                                                 task(fika.Cancelled, "deadline", func(r *fika.Request) { r.FinishedAt = r.Deadline }),
		"@bob had no answer within 10m; the task was cancelled at its deadline. It had not begun: @bob is busy or does not run (request r1)": task(fika.Cancelled, "deadline", func(r *fika.Request) { r.FinishedAt, r.StartedAt = r.Deadline, time.Time{} }),
		"@bob had no answer within 10m; the task was cancelled at its deadline (request r1) ":                                                task(fika.Running, "deadline", nil),
		"@bob has no answer: the task was given up after several starts (3 starts) (request r1)":                                             task(fika.Dead, "3 starts", nil),
		"the task is gone: it was deleted before it had an answer":                                                                           {},
	} {
		d := delegator()
		d.Limits = tool.Limits{}
		got := d.Report(callOf("{}"), "bob", r)
		if got.Text != strings.TrimSpace(want) || !got.IsError {
			t.Errorf("got  %q\nwant %q", got.Text, want)
		}
	}
	long := strings.Repeat("word ", 1000)
	got := delegator().Report(callOf("{}"), "bob", fika.Request{ID: "r1", State: fika.Done, Outcome: fika.Outcome{Answer: long}})
	if got.IsError || len(got.Text) > 1000 || !strings.HasPrefix(got.Text, "word") {
		t.Errorf("a long answer: %d bytes, %v", len(got.Text), got.IsError)
	}
}

func FuzzDeadline(f *testing.F) {
	for _, s := range []string{`10`, `"10m"`, `"1e9"`, `1e400`, `"NaN"`, `-1`, `null`, `"9223372036s"`, `{`, `""`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := parseDeadline(json.RawMessage(raw))
		if err == nil && d < time.Second {
			t.Errorf("%q is %s", raw, d)
		}
		if err != nil && !fika.IsKind(err, fika.Invalid) {
			t.Errorf("%q: %v", raw, err)
		}
	})
}
