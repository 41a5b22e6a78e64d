package login_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fika"
	"fika/internal/rights/login"
)

// TestOneOfManyLogsIn: of twenty browsers that use one code at the same moment, one gets in.
func TestOneOfManyLogsIn(t *testing.T) {
	d := login.In(t.TempDir(), time.Now)
	code, err := d.NewCode()
	if err != nil {
		t.Fatal(err)
	}
	var in atomic.Int32
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			token, err := d.Redeem(code)
			switch {
			case err == nil && d.Valid(token):
				in.Add(1)
			case !fika.IsKind(err, fika.Denied):
				t.Errorf("refused with %v", err)
			}
		})
	}
	all.Wait()
	if in.Load() != 1 {
		t.Errorf("%d got in", in.Load())
	}
}

// TestNoSecretIsKept: neither codes nor sessions are in the files, which are the owner's
// alone; a damaged file is reported; an old code leaves nothing behind.
func TestNoSecretIsKept(t *testing.T) {
	run, now := t.TempDir(), time.Now()
	d := login.In(run, func() time.Time { return now })
	first, err := d.NewCode()
	if err != nil {
		t.Fatal(err)
	}
	code, _ := d.NewCode()
	token, err := d.Redeem(code)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Place(); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(run, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, secret := range []string{first, code, token} {
			if strings.Contains(path+string(data), secret) {
				t.Errorf("%s holds a secret", path)
			}
		}
		if info, _ := e.Info(); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Minute)
	if _, err := d.NewCode(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(filepath.Join(run, "web", "codes")); len(left) != 1 {
		t.Errorf("%d codes are left", len(left))
	}
	if err := os.WriteFile(filepath.Join(run, "web", "place.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Place(); !fika.IsKind(err, fika.Invalid) {
		t.Errorf("a damaged file: %v", err)
	}
}
