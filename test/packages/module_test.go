package packages

import (
	"archive/zip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// published is the path that a builder might have.
const published = "example.com/you/fika"

// renamed returns a copy of the source whose module has that path.
func renamed(t *testing.T) string {
	t.Helper()
	tree := filepath.Join(t.TempDir(), "renamed")
	copyTree(t, root(t), tree)
	t.Log(must(t, tree, []string{"HOME=" + os.Getenv("HOME")}, "scripts/module.sh", published))
	return tree
}

// TestModulePath: one command gives the module another path, after which nothing is looked
// for under the old one.
func TestModulePath(t *testing.T) {
	tree := renamed(t)
	modules := must(t, "", []string{"HOME=" + os.Getenv("HOME"), "GOMODCACHE=" + os.Getenv("GOMODCACHE")}, "go", "env", "GOMODCACHE")
	env := []string{"HOME=" + os.Getenv("HOME"), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOMODCACHE=" + strings.TrimSpace(modules)}
	list := must(t, tree, env, "go", "list", "-test", "-deps", "./...")
	if !strings.Contains(list, published+"/cmd/fika\n") || strings.Contains("\n"+list, "\nfika/") {
		t.Errorf("packages after the change:\n%s", list)
	}
	for _, name := range []string{"scripts/test.sh", "scripts/packages.sh"} {
		must(t, tree, nil, "sh", "-n", name)
	}
	if text, err := os.ReadFile(filepath.Join(tree, "scripts/test.sh")); err != nil || strings.Contains(string(text), "'fika/") {
		t.Errorf("the script of the tests names the old path (%v)", err)
	}
}

// TestGoInstall: what has a path that a proxy serves is installed by go install.
func TestGoInstall(t *testing.T) {
	whole(t)
	tree := renamed(t)
	archive := filepath.Join(t.TempDir(), "module.zip")
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, file := range files(t, tree) {
		rel, err := filepath.Rel(tree, file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(rel, ".") {
			continue
		}
		w, err := z.Create(published + "@v" + version + "/" + filepath.ToSlash(rel))
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := fmt.Sprintf(`{"Version":"v%s","Time":"2023-11-14T22:13:20Z"}`, version)
		switch strings.TrimPrefix(r.URL.Path, "/"+published+"/@") {
		case "latest", "v/v" + version + ".info":
			fmt.Fprint(w, info)
		case "v/list":
			fmt.Fprintln(w, "v"+version)
		case "v/v" + version + ".mod":
			http.ServeFile(w, r, filepath.Join(tree, "go.mod"))
		case "v/v" + version + ".zip":
			http.ServeFile(w, r, archive)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(proxy.Close)
	home := t.TempDir()
	cache := must(t, "", []string{"HOME=" + os.Getenv("HOME")}, "go", "env", "GOMODCACHE")
	// Everything else comes from what is downloaded already.
	env := []string{
		"HOME=" + os.Getenv("HOME"), "GOBIN=" + filepath.Join(home, "bin"), "GOFLAGS=-modcacherw", "CGO_ENABLED=0", "GOSUMDB=off",
		"GOMODCACHE=" + t.TempDir(), "GOPROXY=" + proxy.URL + ",file://" + strings.TrimSpace(cache) + "/cache/download",
	}
	t.Log(must(t, home, env, "go", "install", published+"/cmd/fika@latest"))
	if out := must(t, home, []string{"HOME=" + home}, filepath.Join(home, "bin/fika"), "version"); !strings.HasPrefix(out, "fika v"+version+" (") {
		t.Errorf("it says %q", out)
	}
}
