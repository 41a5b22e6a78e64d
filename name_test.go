package fika_test

import (
	"strings"
	"testing"

	"fika"
)

func TestParseAgentName(t *testing.T) {
	for in, want := range map[string]string{
		"arya": "arya", "Arya": "arya", "a": "a", "0x": "0x", "a_b-c": "a_b-c", strings.Repeat("a", 32): strings.Repeat("a", 32),
		"": "", "../x": "", "a.b": "", "*": "", ">": "", "-a": "", "_a": "", "a b": "", "user": "", "All": "", "system": "", "tool": "", "auto": "", "Workflow": "",
		strings.Repeat("a", 33): "", "é": "", "a\x00": "", "a/": "", "a\n": "",
	} {
		got, err := fika.ParseAgentName(in)
		if (err == nil) != (want != "") || string(got) != want {
			t.Errorf("ParseAgentName(%q) = %q, %v; want %q", in, got, err, want)
		}
		if err != nil && fika.KindOf(err) != fika.Invalid {
			t.Errorf("ParseAgentName(%q): kind %s", in, fika.KindOf(err))
		}
	}
	if _, err := fika.ParseChatName(strings.Repeat("a", 300)); err == nil || len(err.Error()) > 400 {
		t.Errorf("a name of 300 characters: %v", err)
	}
	if _, err := fika.ParseUsername("User"); err != nil {
		t.Errorf("user is a username: %v", err)
	}
}

// TestWorkflowAgent: the name of all runs is nobody else's, and whoever tries it is
// told what it is; on the bus a team is asked by it.
func TestWorkflowAgent(t *testing.T) {
	if _, err := fika.ParseAgentName("workflow"); err == nil || !strings.Contains(err.Error(), "the runs of workflows") {
		t.Errorf("as an agent: %v", err)
	}
	if got, err := fika.ParseAddressee("Workflow"); err != nil || got != fika.WorkflowAgent {
		t.Errorf("on the bus: %q, %v", got, err)
	}
	if _, err := fika.ParseAddressee("tool"); err == nil {
		t.Error("tool is somebody on the bus")
	}
}

func TestB13Usernames(t *testing.T) {
	for _, good := range []string{"Jöhn", "jo\u0308hn", "Ötzi", "さくら", "桜さん", "Олег", "Ἀθηνᾶ", "ann-2", "i", "0x", "محمد", "आर्या"} {
		if got, err := fika.ParseUsername(good); err != nil || got != good {
			t.Errorf("%q: %q, %v", good, got, err)
		}
	}
	bad := []string{"", "a b", "-a", "_a", "\u0308a", "а" + "rya", "ar\u200bya", "tool", "ALL", "workflow", "a.b", "a/b", "@a", "a\x00", "a\xff", "ａrya\u202e", strings.Repeat("ö", 33), "a🙂"}
	for _, name := range bad {
		if got, err := fika.ParseUsername(name); err == nil {
			t.Errorf("%q became %q", name, got)
		}
	}
}

func FuzzParseNames(f *testing.F) {
	for _, s := range []string{"arya", "../x", "a.b", "*", strings.Repeat("x", 300), "É"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := fika.ParseAgentName(s)
		if err != nil {
			return
		}
		if strings.ContainsAny(string(n), "./\\*> \t\n\x00") || len(n) > 32 || strings.ToLower(string(n)) != string(n) {
			t.Fatalf("%q became %q", s, n)
		}
	})
}
