package worker

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"fika"
	"fika/internal/extension/hook"
)

// recorder keeps what hooks are told.
type recorder struct {
	fired []string
	block hook.Point
}

func (r *recorder) Fire(_ context.Context, at hook.Point, p hook.Payload) (hook.Payload, error) {
	var keys []string
	for k := range p {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	r.fired = append(r.fired, fmt.Sprintf("%s %v %v", at, keys, p["message_count"]))
	if at == r.block {
		return p, fika.Errorf(fika.Denied, "", "a hook forbids it")
	}
	return p, nil
}

func TestHooksOfCompactionsAreToldExactlyWhatTheyAreDocumentedToBeTold(t *testing.T) {
	x := sit(t, "")
	r := &recorder{}
	x.runtime.hooks = r
	x.prompt("one")
	x.prompt("two")
	r.fired = nil
	x.byHand(true)
	x.byHand(false)
	want := []string{
		"pre_rolling_compact [context_name message_count non_system_count summary] 4",
		"post_rolling_compact [context_name message_count messages_archived summary] 2",
		"pre_compact [context_name message_count summary] 2",
		"post_compact [context_name message_count summary] 0",
	}
	if !slices.Equal(r.fired, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(r.fired, "\n"), strings.Join(want, "\n"))
	}
	for _, d := range hook.Points() { // and that is what the table says
		for _, line := range want {
			if fields := strings.Fields(line); fields[0] == string(d.Point) {
				keys := slices.Clone(d.Payload)
				sort.Strings(keys)
				if !strings.Contains(line, fmt.Sprint(keys)) {
					t.Errorf("%s is documented with %v", d.Point, keys)
				}
			}
		}
	}
}

func TestAHookMayForbidACompactionButNotTheAnswer(t *testing.T) {
	x := sit(t, small)
	x.runtime.hooks = &recorder{block: hook.PreRollingCompact}
	x.big()
	if got := x.prompt("still?"); got != "answer to still?" || len(x.compactions()) != 0 {
		t.Errorf("got %q and %d compactions", got, len(x.compactions()))
	}
}
