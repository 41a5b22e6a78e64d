package message

import (
	"strings"
	"testing"

	"fika"
)

func TestE8Scope(t *testing.T) {
	long := strings.Repeat("x", 128)
	for _, c := range []struct{ id, scoped, back string }{
		{"job-7", "ask_coder_job-7", "job-7"},
		{"ask_coder_job-7", "ask_coder_job-7", "job-7"},
		{"ask_tester_job-7", "ask_coder_ask_tester_job-7", "ask_tester_job-7"},
		{"ask_coder_20261121-100712-0a1b2c", "ask_coder_20261121-100712-0a1b2c", "ask_coder_20261121-100712-0a1b2c"},
	} {
		scoped := ScopedConversation("coder", fika.ConversationName(c.id))
		if back := ForeignConversation("coder", scoped); string(scoped) != c.scoped || string(back) != c.back {
			t.Errorf("%s: %s and back %s", c.id, scoped, back)
		}
	}
	a, b := ScopedConversation("coder", fika.ConversationName(long)), ScopedConversation("coder", fika.ConversationName(long[1:]))
	if _, err := fika.ParseConversationName(string(a)); err != nil || a == b {
		t.Errorf("long ids are %s and %s (%v)", a, b, err)
	}
	if again := ScopedConversation("coder", ForeignConversation("coder", a)); again != a {
		t.Errorf("what a long id comes back as leads to %s, not %s", again, a)
	}
}
