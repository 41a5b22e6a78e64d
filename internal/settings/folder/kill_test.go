package folder

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"fika"
)

// fileSource is an EntrySource whose truth is a file that survives kill -9:
// one line an entry, a torn last line is no entry.
type fileSource struct {
	*memorySource
	path string
}

func openFileSource(path string) (*fileSource, error) {
	s := &fileSource{newSource("c1"), path}
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	end := bytes.LastIndexByte(data, '\n') + 1
	if err := os.WriteFile(path, data[:end], 0o600); err != nil {
		return nil, err
	}
	for _, row := range bytes.Split(bytes.TrimSpace(data[:end]), []byte{'\n'}) {
		if len(row) == 0 {
			continue
		}
		var e fika.Entry
		if err := json.Unmarshal(row, &e); err != nil {
			return nil, err
		}
		e.Conversation = "c1"
		s.entries["c1"] = append(s.entries["c1"], e)
	}
	return s, nil
}

func (s *fileSource) commit(es []fika.Entry) error {
	f, err := os.OpenFile(s.path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	return WriteEntries(f, es)
}

// mirrorRole commits and mirrors for ever, reporting each turn.
func mirrorRole() int {
	f := roleFolder()
	fail := func(err error) int { fmt.Fprintln(os.Stderr, err); return 1 }
	l, err := TryLock(context.Background(), f, LockOptions{Kind: LockAgent})
	if err != nil {
		return fail(err)
	}
	s, err := openFileSource(os.Getenv("FOLDER_TEST_TRUTH"))
	if err != nil {
		return fail(err)
	}
	m, err := OpenMirror(context.Background(), l, s)
	if err != nil {
		return fail(err)
	}
	for {
		if notes := m.TakeNotes(); len(notes) > 0 {
			return fail(fmt.Errorf("set aside: %q", notes))
		}
		var es []fika.Entry
		seq := int64(len(s.entries["c1"]))
		switch n := rand.IntN(8); {
		case n == 0 && seq > 4:
			es = append(es, s.compact(seq-1, seq-3))
		case n == 1 && seq > 4:
			es = append(es, s.add(fika.Entry{From: "system", Type: fika.Compaction, Meta: fika.EntryMeta{Undo: 1 + rand.Int64N(seq)}}))
		default:
			es = s.say(1 + n)
		}
		if err := s.commit(es); err != nil {
			return fail(err)
		}
		if err := m.Append(context.Background(), es...); err != nil {
			return fail(err)
		}
		fmt.Println(es[len(es)-1].Seq)
	}
}

func TestMirrorSurvivesKill(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	f := testFolder(t)
	truth := t.TempDir() + "/truth"
	for range rounds {
		cmd := helper("mirror", f, "FOLDER_TEST_TRUTH="+truth)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := rand.IntN(6); n > 0 && lines.Scan(); n-- {
		}
		_ = cmd.Process.Kill() // at whatever point it now is
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code >= 0 {
			t.Fatalf("the mirror ended by itself: %d", code)
		}
		if rand.IntN(3) > 0 {
			continue // the next process mends
		}
		l := testLock(t, f)
		s, err := openFileSource(truth)
		if err != nil {
			t.Fatal(err)
		}
		m := openMirror(t, l, s)
		wantEqual(t, f, s)
		wantNotes(t, m)
		_ = l.Close()
	}
	s, err := openFileSource(truth)
	if err != nil {
		t.Fatal(err)
	}
	l := testLock(t, f)
	m := openMirror(t, l, s)
	wantEqual(t, f, s)
	wantNotes(t, m)
	t.Logf("%d entries after %d kills", len(s.entries["c1"]), rounds)
}
