package folder

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const hello = `{"from":"cron","content":"hello"}` + "\n"

func take(t *testing.T, l *Lock, now time.Time) *Batch {
	t.Helper()
	b, err := l.takeInbox(now)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func done(t *testing.T, b *Batch) {
	t.Helper()
	if err := b.MarkStored(); err != nil {
		t.Fatal(err)
	}
}

func inboxFiles(t *testing.T, f Folder) []string {
	t.Helper()
	names, err := filepath.Glob(f.path("inbox*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestInboxHearsLateLinesAndEmpties(t *testing.T) {
	f := testFolder(t)
	l := testLock(t, f)
	now := time.Now()
	done(t, take(t, l, now)) // nothing there
	writer, err := os.OpenFile(f.path(inboxName), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	_, _ = writer.WriteString(hello + `{"id":"mine","timestamp":1700000000,"from":"bob","to":"coder","content":"x","more":[1]}` + "\n")
	b := take(t, l, now)
	if len(b.Messages) != 2 || b.Messages[1].ID != "mine" || b.Messages[1].At.Unix() != 1700000000 || b.Messages[0].ID == "" {
		t.Fatalf("%+v", b.Messages)
	}
	again := take(t, l, now) // a crash before Done: the same, under the same ids
	if len(again.Messages) != 2 || again.Messages[0] != b.Messages[0] {
		t.Fatalf("%+v", again.Messages)
	}
	done(t, again)
	if b := take(t, l, now); len(b.Messages) != 0 {
		t.Fatalf("heard twice: %+v", b.Messages)
	}
	_, _ = writer.WriteString(strings.Replace(hello, "hello", "late", 1)) // into the renamed file
	b = take(t, l, now)
	if len(b.Messages) != 1 || b.Messages[0].Content != "late" {
		t.Fatalf("%+v", b.Messages)
	}
	done(t, b)
	done(t, take(t, l, now.Add(time.Hour)))
	if left := inboxFiles(t, f); len(left) != 0 {
		t.Fatalf("left %q", left)
	}
}

func TestInboxKeepsWhatItCannotUnderstand(t *testing.T) {
	f := testFolder(t)
	l := testLock(t, f)
	now := time.Now()
	bad := []string{"not json", `{"from":"x"}`, `{"content":"x"}`, `[1]`, `{"from":"x","content":"y","timestamp":"soon"}`, `{"from":"x","content":7}`}
	write(t, f.path(inboxName), hello+"\r\n"+strings.Join(bad, "\n")+"\n"+hello+`{"from":"torn","cont`)
	b := take(t, l, now)
	if len(b.Messages) != 2 || b.Messages[0].ID == b.Messages[1].ID || len(b.Problems) != len(bad) || b.Problems[0].Line != 3 {
		t.Fatalf("%+v %v", b.Messages, b.Problems)
	}
	done(t, b)
	b = take(t, l, now.Add(time.Hour)) // nobody finished the torn line
	if len(b.Messages) != 0 || len(b.Problems) != 1 || b.Problems[0].Line != 10 {
		t.Fatalf("%+v %v", b.Messages, b.Problems)
	}
	done(t, b)
	done(t, take(t, l, now.Add(time.Hour)))
	want := strings.Join(bad, "\n") + "\n" + `{"from":"torn","cont` + "\n"
	if got := read(t, f.path("inbox.rejected.jsonl")); got != want {
		t.Fatalf("%q", got)
	}
	if left := inboxFiles(t, f); len(left) != 1 {
		t.Fatalf("left %q", left)
	}
}

func TestInboxTakesTornLineWhenFinished(t *testing.T) {
	f := testFolder(t)
	l := testLock(t, f)
	now := time.Now()
	w, err := os.OpenFile(f.path(inboxName), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	_, _ = w.WriteString(hello[:10])
	done(t, take(t, l, now))
	_, _ = w.WriteString(hello[10:])
	if b := take(t, l, now); len(b.Messages) != 1 || len(b.Problems) != 0 {
		t.Fatalf("%+v %v", b.Messages, b.Problems)
	}
}

func TestInboxComesInBatches(t *testing.T) {
	f := testFolder(t)
	l := testLock(t, f)
	var text strings.Builder
	for i := range 2*inboxBatch + 5 {
		fmt.Fprintf(&text, `{"from":"x","content":"%d"}`+"\n", i)
	}
	write(t, f.path(inboxName), text.String())
	now, next := time.Now().Add(time.Hour), 0
	for more := true; more; {
		b := take(t, l, now)
		for _, m := range b.Messages {
			if m.Content != fmt.Sprint(next) {
				t.Fatalf("got %s, want %d", m.Content, next)
			}
			next++
		}
		more = b.More
		done(t, b)
	}
	if next != 2*inboxBatch+5 {
		t.Fatal(next)
	}
}

func TestInboxRefusesWhatIsNoFile(t *testing.T) {
	f := testFolder(t)
	l := testLock(t, f)
	if err := os.Mkdir(f.path(inboxName), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := l.TakeInbox(); err == nil {
		t.Fatal("a folder was read")
	}
}
