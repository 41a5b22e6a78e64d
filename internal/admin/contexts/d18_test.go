package contexts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/admin/contexts"
)

// TestD18 brings in folders of 32 MiB of text (quickly: of 8), writes them out
// again, and looks at how much most garbage collections find in use: never near to
// all of it.
func TestD18(t *testing.T) {
	// With all of them in memory it is over 400 MiB, or quickly 100.
	entries, most := 4_000, uint64(64<<20)
	if testing.Short() {
		entries, most = entries/4, most/2
	}
	text := strings.Repeat("lorem ipsum ", 8<<10/12)
	write := func(path string, from, to int, seqs bool) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := from; i < to; i++ {
			seq := ""
			if seqs {
				seq = fmt.Sprintf(`,"seq":%d`, i+1)
			}
			if _, err := fmt.Fprintf(f, "{\"id\":\"e%d\",\"timestamp\":1,\"from\":\"user\",\"to\":\"x\",\"content\":\"%d %s\",\"entry_type\":\"message\"%s}\n", i, i, text, seq); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	mirror, chibi := filepath.Join(t.TempDir(), "mirror"), filepath.Join(t.TempDir(), "chibi")
	write(filepath.Join(mirror, "transcript_archive.jsonl"), 0, entries-400, true)
	write(filepath.Join(mirror, "context.jsonl"), entries-400, entries, true)
	write(filepath.Join(chibi, "transcript", "partitions", "1.jsonl"), 0, entries/2, false)
	write(filepath.Join(chibi, "transcript", "active.jsonl"), entries/2, entries, false)
	write(filepath.Join(chibi, "context.jsonl"), entries-100, entries, false)
	a := elsewhere(t)
	for name, path := range map[string]string{"mirror": mirror, "chibi": chibi} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && path == chibi {
				t.Skip("both are read by the same code")
			}
			usual := watchHeap()
			got, err := contexts.Import(t.Context(), a, fika.AgentName("big"+name), path, 0, person(t))
			if err != nil || got.New != entries {
				t.Fatalf("%d of %d entries: %v", got.New, entries, err)
			}
			n, err := contexts.Export(t.Context(), a, asker, fika.AgentName("big"+name), filepath.Join(t.TempDir(), "copy"))
			if err != nil || n != entries+1 { // and the mark of what is archived
				t.Fatalf("%d of %d entries written: %v", n, entries+1, err)
			}
			p := usual()
			t.Logf("%d MiB are in use", p>>20)
			if p > most {
				t.Errorf("%d MiB are in use, for %d MiB of entries", p>>20, entries*8>>10)
			}
		})
	}
}

// watchHeap notes how much each garbage collection found in use, until it is asked for
// the third quartile. A single collection says little: memory allocated while it runs
// counts as in use, and on a busy machine it runs long.
func watchHeap() (usual func() uint64) {
	stop, found := make(chan struct{}), make(chan []uint64)
	go func() {
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}
		metrics.Read(sample)
		var all []uint64
		last := sample[1].Value.Uint64()
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				found <- all
				return
			case <-tick.C:
				if metrics.Read(sample); sample[1].Value.Uint64() != last {
					last = sample[1].Value.Uint64()
					all = append(all, sample[0].Value.Uint64())
				}
			}
		}
	}()
	return func() uint64 {
		close(stop)
		all := <-found
		slices.Sort(all)
		return all[len(all)*3/4]
	}
}
