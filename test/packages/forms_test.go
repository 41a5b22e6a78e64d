package packages

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// whole skips a test of the short form.
func whole(t *testing.T) {
	t.Helper()
	if !full {
		t.Skip("FULL=1, as in make packages")
	}
}

// refusesToRemove: a package is its manager's to remove.
func refusesToRemove(t *testing.T, fika, with string) {
	t.Helper()
	home := t.TempDir()
	if out, err := call(t, home, []string{"HOME=" + home}, fika, "uninstall", "-y"); err == nil || !strings.Contains(out, with) {
		t.Errorf("fika uninstall does not name %q: %v, %s", with, err, out)
	}
	if _, err := os.Stat(fika); err != nil {
		t.Error(err)
	}
}

// linuxPackage is the package of a form for this machine.
func linuxPackage(t *testing.T, form string) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("packages of Linux")
	}
	return filepath.Join(release(t), archiveName()+"."+form)
}

// TestDeb: installed by dpkg into a root with nothing in it, and removed again.
func TestDeb(t *testing.T) {
	whole(t)
	need(t, "dpkg")
	file := linuxPackage(t, "deb")
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "var/lib/dpkg/info"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"var/lib/dpkg/updates", "var/lib/dpkg/triggers"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	log := "--log=" + filepath.Join(t.TempDir(), "log")
	t.Log(must(t, dir, nil, "dpkg", "--force-not-root", "--root="+dir, log, "-i", file))
	prefix := filepath.Join(dir, "usr")
	works(t, prefix, filepath.Join(prefix, "bin/fika"))
	refusesToRemove(t, filepath.Join(prefix, "bin/fika"), "sudo apt remove fika")
	must(t, dir, nil, "dpkg", "--force-not-root", "--root="+dir, log, "-r", "fika")
	if left := files(t, dir); strings.Contains(strings.Join(left, " "), "/usr/") {
		t.Errorf("left: %v", left)
	}
}

// TestRPM: unpacked as rpm has it, at the places where its systems look.
func TestRPM(t *testing.T) {
	whole(t)
	need(t, "rpm", "rpm2cpio", "cpio")
	file := linuxPackage(t, "rpm")
	if list := must(t, "", nil, "rpm", "-qlp", file); !strings.Contains(list, "/usr/share/zsh/site-functions/_fika\n") || !strings.Contains(list, "/usr/share/licenses/fika/LICENSE\n") {
		t.Error(list)
	}
	dir := t.TempDir()
	// The names begin at the root, where cpio alone would put them.
	must(t, dir, nil, "sh", "-c", `rpm2cpio "$1" | cpio -id --quiet --no-absolute-filenames`, "sh", file)
	prefix := filepath.Join(dir, "usr")
	works(t, prefix, filepath.Join(prefix, "bin/fika"))
	refusesToRemove(t, filepath.Join(prefix, "bin/fika"), "sudo dnf remove fika")
}

// manifest returns the package.json of an npm package.
func manifest(t *testing.T, file string) map[string]any {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for in := tar.NewReader(zip); ; {
		h, err := in.Next()
		if err != nil {
			t.Fatalf("%s has no package.json: %v", file, err)
		}
		if h.Name != "package/package.json" {
			continue
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatalf("%s: %v\n%s", file, err, text)
		}
		return m
	}
}

// registry serves the npm packages of the release as a registry does, and notes which files
// were fetched.
func registry(t *testing.T) (url string, fetched func() []string) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(release(t), "*.tgz"))
	if err != nil || len(list) != len(platforms())+1 {
		t.Fatalf("%d packages for npm (%v)", len(list), err)
	}
	documents := map[string]map[string]any{}
	var mutex sync.Mutex
	var files []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if strings.HasSuffix(name, ".tgz") {
			mutex.Lock()
			files = append(files, name)
			mutex.Unlock()
			http.ServeFile(w, r, filepath.Join(release(t), filepath.Base(name)))
			return
		}
		if documents[name] == nil {
			http.NotFound(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(documents[name])
	}))
	t.Cleanup(s.Close)
	for _, file := range list {
		m := manifest(t, file)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha512.Sum512(data)
		m["dist"] = map[string]any{"tarball": s.URL + "/" + filepath.Base(file), "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
		name := m["name"].(string)
		documents[name] = map[string]any{"name": name, "dist-tags": map[string]any{"latest": version}, "versions": map[string]any{version: m}}
	}
	return s.URL, func() []string { mutex.Lock(); defer mutex.Unlock(); return files }
}

// TestNPM: from a registry, which sends the program for this machine and no other; and from
// the files alone, with no network. Nothing of the packages runs while they are installed.
func TestNPM(t *testing.T) {
	whole(t)
	need(t, "npm", "node")
	url, fetched := registry(t)
	home := t.TempDir()
	env := []string{"HOME=" + home, "npm_config_cache=" + t.TempDir(), "npm_config_update_notifier=false", "npm_config_audit=false", "npm_config_fund=false", "npm_config_ignore_scripts=true"}
	cpu := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	ours := "fika-" + runtime.GOOS + "-" + cpu + "-" + version + ".tgz"

	prefix := filepath.Join(home, "from-registry")
	t.Log(must(t, home, env, "npm", "install", "-g", "--prefix", prefix, "--registry", url, "fika"))
	npmWorks(t, prefix)
	if got := fetched(); len(got) != 2 || !strings.Contains(strings.Join(got, " "), ours) {
		t.Errorf("fetched %v", got)
	}

	prefix = filepath.Join(home, "from-files")
	t.Log(must(t, home, env, "npm", "install", "-g", "--prefix", prefix, "--offline", filepath.Join(release(t), ours), filepath.Join(release(t), "fika-"+version+".tgz")))
	npmWorks(t, prefix)

	// As where optional dependencies are left out, or for a system without a program.
	for _, dir := range []string{"lib/node_modules", "lib/node_modules/fika/node_modules"} {
		if err := os.RemoveAll(filepath.Join(prefix, dir, strings.TrimSuffix(ours, "-"+version+".tgz"))); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := call(t, home, env, filepath.Join(prefix, "bin/fika"), "version"); err == nil || !strings.Contains(out, "is not installed") || !strings.Contains(out, "hint: npm install fika") {
		t.Errorf("without its program: %v, %s", err, out)
	}
}

// npmWorks is works for what npm installed, whose completions the program itself prints.
func npmWorks(t *testing.T, prefix string) {
	t.Helper()
	fika := filepath.Join(prefix, "bin/fika")
	share := filepath.Join(t.TempDir(), "share")
	for shell, file := range map[string]string{"bash": "bash-completion/completions/fika", "zsh": "zsh/site-functions/_fika", "fish": "fish/vendor_completions.d/fika.fish"} {
		name := filepath.Join(share, file)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		out := must(t, "", []string{"HOME=" + t.TempDir()}, fika, "completion", shell)
		if err := os.WriteFile(name, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(share, "man"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(prefix, "lib/node_modules/fika/man/man1"), filepath.Join(share, "man/man1")); err != nil {
		t.Fatal(err)
	}
	works(t, filepath.Dir(share), fika)
	refusesToRemove(t, fika, "npm uninstall -g fika")
	// The exit status and what it is told come through.
	if out, err := call(t, "", []string{"HOME=" + t.TempDir()}, fika, "chat", "list", "--nonsense"); err == nil || err.Error() != "exit status 2" {
		t.Errorf("%v, %s", err, out)
	}
}

// TestFormula: each address of the formula names an archive of the release, with its checksum.
func TestFormula(t *testing.T) {
	whole(t)
	if len(platforms()) < 4 {
		t.Skip("it is made only of all four platforms")
	}
	text, err := os.ReadFile(filepath.Join(release(t), "fika.rb"))
	if err != nil {
		t.Fatal(err)
	}
	pairs := regexp.MustCompile(`url "https://download\.invalid/fika/([^"]+)"\s+sha256 "([0-9a-f]{64})"`).FindAllSubmatch(text, -1)
	if len(pairs) != 4 {
		t.Fatalf("%d addresses in\n%s", len(pairs), text)
	}
	for _, p := range pairs {
		data, err := os.ReadFile(filepath.Join(release(t), string(p[1])))
		if err != nil {
			t.Error(err)
		} else if sum := fmt.Appendf(nil, "%x", sha256.Sum256(data)); !bytes.Equal(sum, p[2]) {
			t.Errorf("%s has the checksum %s, not %s", p[1], sum, p[2])
		}
	}
}
