package process

import "testing"

func TestParseStat(t *testing.T) {
	// A command may call itself anything.
	s, ok := parseStat([]byte("42 (a) S 9 (b) ) Z 1 77 77 0 -1 4 0 0 0 0 1 2 0 0 20 0 1 0 987654 0 0\n"))
	if !ok || s.state != 'Z' || s.pgrp != 77 || s.start != 987654 || !s.isDead() {
		t.Errorf("got %+v, %v", s, ok)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("1 (x) S 1 1 1 0 -1 4 0 0 0 0 1 2 0 0 20 0 1 0 5 0 0"))
	f.Add([]byte(") "))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if s, ok := parseStat(raw); ok && s.state == 0 {
			t.Errorf("%q gave %+v", raw, s)
		}
	})
}

func TestMarkIsAWholeEntry(t *testing.T) {
	env := []byte("A=1\x00FIKA_STEP=r/10\x00X=FIKA_STEP=r/2\x00")
	for entry, want := range map[string]bool{"FIKA_STEP=r/10": true, "FIKA_STEP=r/1": false, "FIKA_STEP=r/2": false} {
		if hasEntry(env, []byte(entry)) != want {
			t.Errorf("%s: want %v", entry, want)
		}
	}
}
