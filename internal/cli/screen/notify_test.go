package screen

import (
	"testing"
	"time"
)

func TestNotifier(t *testing.T) {
	n := notifier{place: "shop"}
	now := time.Unix(0, 0).Add(time.Hour)
	for i, c := range []struct {
		after  time.Duration
		busy   []string
		asked  int
		title  string
		notice string
	}{
		{0, nil, 0, "fika shop", ""},
		{0, []string{"coder"}, 0, "fika shop: coder", ""},
		{2 * time.Second, nil, 0, "fika shop", ""}, // too short to tell
		{0, []string{"coder"}, 0, "fika shop: coder", ""},
		{11 * time.Second, []string{"reviewer"}, 0, "fika shop: reviewer", ""},
		{time.Second, nil, 0, "fika shop", "shop: done (reviewer)"},
		{time.Second, nil, 1, "fika shop: waits for you", "shop: 1 approval waits for you"},
		{time.Second, nil, 1, "fika shop: waits for you", ""},
		{time.Second, nil, 0, "fika shop", ""},
	} {
		now = now.Add(c.after)
		if title, notice := n.noticeAt(c.busy, c.asked, now); title != c.title || notice != c.notice {
			t.Errorf("%d: %q, %q; want %q, %q", i, title, notice, c.title, c.notice)
		}
	}
}
