package limit_test

import (
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/rights/limit"
)

var now = time.Date(2026, 5, 1, 14, 30, 0, 0, time.UTC)

func TestBegin(t *testing.T) {
	l := limit.Limits{MaxDepth: 10, MaxTurns: 5, MaxTokens: 100, MaxCost: 1000, MaxAge: time.Hour}
	for _, tt := range []struct {
		name  string
		chain fika.Chain
		depth int
		want  string
	}{
		{"nothing used", fika.Chain{}, 0, ""},
		{"the answer would be too deep", fika.Chain{}, 10, limit.Depth},
		{"depth comes first", fika.Chain{Turns: 5}, 10, limit.Depth},
		{"turns", fika.Chain{Turns: 5, Tokens: 100}, 9, limit.Turns},
		{"tokens", fika.Chain{Turns: 1, Tokens: 100, Cost: 1000}, 0, limit.Tokens},
		{"cost", fika.Chain{Turns: 1, Cost: 1000}, 0, limit.Cost},
		{"time", fika.Chain{Turns: 1, StartedAt: now.Add(-time.Hour)}, 0, limit.Age},
		{"time counts from the first turn", fika.Chain{StartedAt: now.Add(-2 * time.Hour)}, 0, ""},
		{"one left of each", fika.Chain{Turns: 4, Tokens: 99, Cost: 999, StartedAt: now.Add(time.Millisecond - time.Hour)}, 9, ""},
	} {
		if got := l.Begin(tt.chain, tt.depth, now); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if got := (limit.Limits{}).Begin(tt.chain, tt.depth, now); got != "" {
			t.Errorf("%s: %q without limits", tt.name, got)
		}
	}
}

func TestForward(t *testing.T) {
	l := limit.Limits{MaxDepth: 3}
	for _, tt := range []struct {
		depth int
		echo  bool
		want  string
	}{{2, false, ""}, {3, false, limit.Depth}, {3, true, limit.Depth}, {2, true, limit.Echo}} {
		if got := l.Forward(tt.depth, tt.echo); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

// TestOf: what a person has set for a conversation takes precedence, even a zero.
func TestOf(t *testing.T) {
	five, none := int64(5), int64(0)
	l := limit.Limits{MaxTurns: 200, MaxDepth: 100, MaxEcho: 6}.HoldingIn(fika.ChainLimits{Turns: &five, Echo: &none})
	if l.MaxTurns != 5 || l.MaxDepth != 100 || l.MaxEcho != 0 {
		t.Fatalf("%+v", l)
	}
}

func TestQuota(t *testing.T) {
	begins := limit.HourOf(now)
	for _, tt := range []struct {
		quota limit.Quota
		want  string
	}{
		{limit.Quota{Begins: begins, Turns: 19, Tokens: 999}, ""},
		{limit.Quota{Begins: begins, Turns: 20}, "20 turns per hour"},
		{limit.Quota{Begins: begins, Tokens: 1000}, "1000 tokens per hour"},
	} {
		x := tt.quota.Exceeded(limit.Limits{HourTurns: 20, HourTokens: 1000})
		if (x == nil) != (tt.want == "") || x != nil && (x.Limit != tt.want || !x.Until.Equal(time.Date(2026, 5, 1, 15, 0, 0, 0, time.UTC))) {
			t.Errorf("%+v: %+v", tt.quota, x)
		}
		if tt.quota.Exceeded(limit.Limits{}) != nil {
			t.Errorf("%+v without limits", tt.quota)
		}
	}
	x := limit.Exceeded{Until: begins.Add(time.Hour), Limit: "1 turn per hour"}
	if got := x.Notice("arya"); got != "@arya reached its limit of 1 turn per hour; waiting work here resumes at 15:00 UTC" {
		t.Error(got)
	}
}

// TestNoticeIDsAreOfWhatHappened: a notice is known by its id. These ids are already
// in stores, so changing a sentence must not change them.
func TestNoticeIDsAreOfWhatHappened(t *testing.T) {
	r := limit.Reached{Chain: "c1", Limit: limit.Turns, Limits: limit.Limits{MaxTurns: 200}, Where: "room"}
	if got := r.NoticeID(); got != "limit-aef5b7a6998117220d771582b1a2413b" {
		t.Error(got)
	}
	reworded := r
	reworded.Where, reworded.Command = "another", "fika run --continue"
	if reworded.NoticeID() != r.NoticeID() || reworded.Notice() == r.Notice() {
		t.Error("the id is made of the words")
	}
	raised := r
	raised.Limits.MaxTurns = 300
	other := r
	other.Chain = "c2"
	for _, o := range []limit.Reached{raised, other, {Chain: "c1", Limit: limit.Depth, Limits: limit.Limits{MaxDepth: 200}}} {
		if o.NoticeID() == r.NoticeID() {
			t.Errorf("%+v has the same id", o)
		}
	}
	x := limit.Exceeded{Until: limit.HourOf(now), Limit: "20 turns per hour"}
	if got := x.NoticeID("a1"); got != "hour-4a720947262b23264df3e7fd7798ce21" {
		t.Error(got)
	}
}

func TestNotices(t *testing.T) {
	l := limit.Limits{MaxDepth: 1, MaxTurns: 200, MaxTokens: 5, MaxCost: 1_500_000, MaxAge: 6 * time.Hour, MaxEcho: 6}
	for name, want := range map[string]string{
		limit.Depth:  "limit reached (1 answer in a row): this chain of messages has stopped; continue with: fika chat continue room",
		limit.Turns:  "limit reached (200 turns): this chain",
		limit.Tokens: "limit reached (5 tokens): this chain",
		limit.Cost:   "limit reached ($1.50): this chain",
		limit.Age:    "limit reached (6h): this chain",
		limit.Echo:   "limit reached (6 messages of @arya and @gendry without anything new): this chain",
	} {
		r := limit.Reached{Chain: "c", Limit: name, Limits: l, Where: "room", Between: [2]fika.AgentName{"arya", "gendry"}}
		if got := r.Notice(); !strings.Contains(got, want) {
			t.Errorf("%s: %s", name, got)
		}
		if got := r.NoticeElsewhere("yard"); !strings.Contains(got, "has stopped in room; continue with: fika chat continue yard") {
			t.Errorf("%s: %s", name, got)
		}
	}
	for kind, want := range map[fika.RequestKind]string{fika.NotifyRequest: "", fika.RunRequest: "fika run --continue", fika.TaskRequest: "fika request retry r1"} {
		if got := limit.ContinueCommand(kind, "r1"); got != want {
			t.Errorf("%s: %q", kind, got)
		}
	}
}
