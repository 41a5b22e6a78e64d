package packages

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// version is that of the releases made here.
const version = "1.2.3"

// full tries all forms and platforms.
var full = os.Getenv("FULL") != ""

var scratch string // of the whole run

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "fika-packages-"); err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(scratch)
	os.Exit(status)
}

// call runs a program with nothing in its environment but what env adds to a PATH.
func call(t *testing.T, dir string, env []string, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// must is call for what has to succeed.
func must(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	out, err := call(t, dir, env, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

// need skips the test where a program is missing; in CI it fails.
func need(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err == nil {
			continue
		}
		if os.Getenv("CI") == "true" && !full {
			t.Fatalf("%s has to be here in CI", name)
		}
		t.Skipf("%s is not here", name)
	}
}

// root is the folder of the module.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// keyFile is the key that signs the releases.
var keyFile = sync.OnceValue(func() string { return filepath.Join(scratch, "key") })

// here is this machine's platform.
const here = runtime.GOOS + "/" + runtime.GOARCH

// platforms are those of the release: this one, with FULL the four, or what PLATFORMS names.
func platforms() []string {
	if !full {
		return []string{here}
	}
	if named := strings.Fields(os.Getenv("PLATFORMS")); len(named) > 0 {
		return named
	}
	return []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}
}

// build makes a release for some platforms from a source tree in the folder out.
func build(t *testing.T, tree, out string, platforms []string, env ...string) {
	t.Helper()
	need(t, "ssh-keygen")
	if _, err := os.Stat(keyFile()); errors.Is(err, fs.ErrNotExist) {
		must(t, "", nil, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", keyFile())
	}
	env = append(env, "HOME="+os.Getenv("HOME"), "GOPROXY="+os.Getenv("GOPROXY"), "TMPDIR="+os.TempDir(),
		"VERSION=v"+version, "SOURCE_DATE_EPOCH=1700000000", "OUT="+out, "SIGN_KEY="+keyFile())
	if full {
		env = append(env, "PACKAGES=1", "BASE_URL=https://download.invalid/fika")
	}
	t.Log(must(t, tree, env, filepath.Join(tree, "scripts/dist.sh"), platforms...))
}

var once sync.Once

// release returns the folder of a release that is built once for all tests.
func release(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(scratch, "release")
	once.Do(func() {
		build(t, root(t), dir, platforms())
	})
	if _, err := os.Stat(filepath.Join(dir, "SHA256SUMS")); err != nil {
		t.Fatal("there is no release: ", err)
	}
	return dir
}

// archiveName is that of the archive for this machine, without its ending.
func archiveName() string { return "fika-" + version + "-" + runtime.GOOS + "-" + runtime.GOARCH }

// copyTree copies a folder without what is built in it.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		switch info, err := d.Info(); {
		case err != nil:
			return err
		case d.IsDir() && (rel == ".git" || rel == "bin" || rel == "dist" || rel == "site"):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !info.Mode().IsRegular():
			return nil // a worktree's .git, a socket
		default:
			data, err := os.ReadFile(name)
			if err != nil || rel == ".git" {
				return err
			}
			return os.WriteFile(filepath.Join(to, rel), data, info.Mode().Perm())
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSameBytes: another folder, and with FULL another cache, make the same files to the
// byte for this machine: all but the lists of all files, where the first has more platforms.
func TestSameBytes(t *testing.T) {
	first := release(t)
	tree, second := filepath.Join(t.TempDir(), "elsewhere"), filepath.Join(t.TempDir(), "again")
	copyTree(t, root(t), tree)
	var env []string
	if full {
		env = append(env, "GOCACHE="+t.TempDir())
	}
	build(t, tree, second, []string{here}, env...)
	list, err := filepath.Glob(filepath.Join(second, "*"))
	if err != nil {
		t.Fatal(err)
	}
	same := 0
	for _, file := range list {
		name := filepath.Base(file)
		if full && strings.HasPrefix(name, "SHA256SUMS") {
			continue
		}
		one, err := os.ReadFile(filepath.Join(first, name))
		if err != nil {
			t.Error(err)
			continue
		}
		two, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if same++; !bytes.Equal(one, two) {
			t.Errorf("%s differs between two builds of one source", name)
		}
	}
	if same < 4 {
		t.Errorf("only %d files compared: %v", same, list)
	}
}
