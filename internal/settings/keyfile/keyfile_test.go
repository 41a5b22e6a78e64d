package keyfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fika"
	"fika/internal/settings/keyfile"
	"fika/internal/system/process"
)

func TestBoundToItsHost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	f := keyfile.Open(path)
	if _, err := f.Use("A_KEY", "one.example"); fika.KindOf(err) != fika.NotFound {
		t.Errorf("none stored: %v", err)
	}
	if err := f.Set("A_KEY", "sk-secret-value", nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 { // many first uses at once bind it once
		wg.Go(func() {
			if v, err := f.Use("A_KEY", "one.example"); v != "sk-secret-value" || err != nil {
				t.Errorf("first use: %v", err)
			}
		})
	}
	wg.Wait()
	_, err := f.Use("A_KEY", "two.example")
	if fika.KindOf(err) != fika.Denied || strings.Contains(err.Error(), "sk-secret") || !strings.Contains(err.Error(), "one.example") {
		t.Errorf("another host: %v", err)
	}
	if list, err := f.List(); err != nil || len(list) != 1 || list[0].Hosts[0] != "one.example" {
		t.Errorf("%v %v", list, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if err := f.Remove("A_KEY"); err != nil || f.Has("A_KEY") || fika.KindOf(f.Remove("A_KEY")) != fika.NotFound {
		t.Error("removed")
	}
}

func TestRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	f := keyfile.Open(path)
	for _, value := range []string{"", "two words", "a\nb", "bell\a", strings.Repeat("x", 20000), "\xff"} {
		if err := f.Set("A", value, nil, time.Now()); fika.KindOf(err) != fika.Invalid {
			t.Errorf("%.10q: %v", value, err)
		}
	}
	if err := os.WriteFile(path, []byte(`{"A": {"value": "sk-secret`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Use("A", "h"); fika.KindOf(err) != fika.Invalid || strings.Contains(err.Error(), "sk-secret") {
		t.Errorf("damaged: %v", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := f.List(); fika.KindOf(err) != fika.Denied {
		t.Errorf("open to others: %v", err)
	}
}

// TestLockIsHeld: a change waits for another process, but not for ever.
func TestLockIsHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := process.LockFile(lock); err != nil {
		t.Fatal(err)
	}
	f := keyfile.Open(path)
	synctest.Test(t, func(t *testing.T) {
		if err := f.Set("A", "value", nil, time.Now()); fika.KindOf(err) != fika.Locked {
			t.Errorf("held: %v", err)
		}
		time.AfterFunc(time.Second, func() {
			if err := process.UnlockFile(lock); err != nil {
				t.Error(err)
			}
		})
		if err := f.Set("A", "value", nil, time.Now()); err != nil {
			t.Errorf("released in time: %v", err)
		}
	})
}
