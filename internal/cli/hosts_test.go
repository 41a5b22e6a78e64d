package cli_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestAHostIsAskedAboutOnce: go get, npm install and git push, from the commands alone, ask
// about the host that they need, are done after one yes, and reach nothing else; what the
// person refuses is not reached.
func TestAHostIsAskedAboutOnce(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	bin, folder := map[string]string{}, t.TempDir()
	for _, name := range []string{"go", "npm", "git"} {
		path, err := exec.LookPath(name)
		if err != nil && os.Getenv("CI") == "true" {
			t.Fatal(err)
		} else if err != nil {
			t.Skip(err)
		}
		bin[name] = path
	}
	forge := filepath.Join(folder, "forge")
	for _, args := range [][]string{{"init", "-q", "--bare", forge}, {"-C", forge, "config", "http.receivepack", "true"}} {
		if out, err := exec.Command(bin["git"], args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	var elsewhere atomic.Int64
	hosts := map[string]http.Handler{
		"mods.test": goModule(t), "npm.test": npmPackage(t),
		"forge.test": forLogin("ann", "word", &cgi.Handler{Path: bin["git"], Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + folder, "GIT_HTTP_EXPORT_ALL=1"}}),
		"other.test": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }),
	}
	var named []string
	for name, h := range hosts {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		named = append(named, fmt.Sprintf("%q", name+":80="+s.Listener.Addr().String()))
	}
	h := newHome(t, "tool_permissions = [\"bash\", \"edit\"]\n"+sessionHome+"[sandbox]\nhosts = ["+strings.Join(named, ", ")+"]\n[[rules]]\ntool = \"bash\"\nhost = \"*.test\"\ndo = \"ask\"\n")
	for name, text := range map[string]string{".gitconfig": "[credential]\n\thelper = store\n", ".git-credentials": "http://ann:word@forge.test\n"} {
		if err := os.WriteFile(filepath.Join(h.work, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	work := []struct{ says, command, made string }{
		{"fetch the module", "GOPROXY=http://mods.test GOSUMDB=off GOFLAGS=-mod=mod go get mods.test/m@v1.0.0 && grep mods.test go.mod", "require mods.test/m v1.0.0"},
		{"fetch the package", "npm install small --no-audit --no-fund && node -p 'require(\"small\")'", "7"},
		{"push it", "git push origin HEAD:refs/heads/theirs 2>&1", "theirs"},
		{"read it", "npm view small version && cat ~/.git-credentials 2>&1; true", "No such file"},
		{"go elsewhere", "npm view small version && curl -sS http://other.test/", "refused: other.test:80"},
	}
	rules := ""
	for _, w := range work {
		rules += fmt.Sprintf("[[rule]]\nmatch = %q\nround = 1\ntool_calls = [{name = \"bash\", args = {command = %q}}]\n", w.says, w.command)
	}
	h.write("r.toml", rules+"[[rule]]\nround = 2\nreply = \"{{.Result}}\"\n")
	ws := coderWorkspace(t, h)
	for name, text := range map[string]string{"go.mod": "module shop\n\ngo 1.24\n", ".npmrc": "registry=http://npm.test/\n", "package.json": "{}"} {
		if err := os.WriteFile(filepath.Join(ws, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"remote", "add", "origin", "http://forge.test/forge"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one"}} {
		cmd := exec.Command(bin["git"], args...)
		cmd.Dir = ws
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	h.run(0, "up")
	t.Cleanup(func() { h.run(0, "down") })
	for i, w := range work {
		chat := fmt.Sprintf("c%d", i)
		h.run(0, "chat", "create", chat)
		h.run(0, "chat", "mode", chat, "auto")
		h.run(0, "chat", "send", chat, "@coder "+w.says)
		if !eventually(func() bool { out, _ := h.run(0, "approve"); return strings.Contains(out, "it needs the network: ") }) {
			t.Fatalf("%s: nobody was asked", w.says)
		}
		if out, _ := h.run(0, "approve"); strings.Contains(out, "the stored login of git (~/.git-credentials)") != (w.made == "theirs") {
			t.Errorf("%s: what is asked about the login:\n%s", w.says, out)
		}
		h.run(0, "approve", fmt.Sprint(i+1))
		h.run(0, "chat", "wait", chat)
		out, _ := h.run(0, "chat", "view", chat)
		if !strings.Contains(out, w.made) {
			t.Errorf("%s: it answers\n%s", w.says, out)
		}
	}
	if out, _ := h.run(0, "approve", "--json"); strings.Contains(out, `"id"`) || elsewhere.Load() > 0 {
		t.Errorf("another question waits, or another host was reached:\n%s", out)
	}
	if out, err := exec.Command(bin["git"], "-C", forge, "rev-parse", "theirs").CombinedOutput(); err != nil {
		t.Errorf("nothing was pushed: %s", out)
	}
}

// forLogin serves those who log in.
func forLogin(name, password string, to http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n, p, ok := r.BasicAuth(); !ok || n != name || p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="forge"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		to.ServeHTTP(w, r)
	})
}

// goModule serves one module as a proxy of modules does.
func goModule(t *testing.T) http.Handler {
	t.Helper()
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for name, text := range map[string]string{"go.mod": "module mods.test/m\n", "m.go": "package m\n"} {
		f, err := z.Create("mods.test/m@v1.0.0/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/mods.test/m/@v/v1.0.0.info":
			fmt.Fprint(w, `{"Version":"v1.0.0"}`)
		case "/mods.test/m/@v/v1.0.0.mod":
			fmt.Fprint(w, "module mods.test/m\n")
		case "/mods.test/m/@v/v1.0.0.zip":
			_, _ = w.Write(archive.Bytes())
		default:
			http.NotFound(w, r)
		}
	})
}

// npmPackage serves one package as a registry does.
func npmPackage(t *testing.T) http.Handler {
	t.Helper()
	var archive bytes.Buffer
	pack := gzip.NewWriter(&archive)
	files := tar.NewWriter(pack)
	for name, text := range map[string]string{"package.json": `{"name": "small", "version": "1.0.0", "main": "index.js"}`, "index.js": "module.exports = 7\n"} {
		if err := files.WriteHeader(&tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if files.Close() != nil || pack.Close() != nil {
		t.Fatal("the archive was not made")
	}
	sum := sha512.Sum512(archive.Bytes())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/small":
			fmt.Fprintf(w, `{"name":"small","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"small","version":"1.0.0","dist":{"tarball":"http://npm.test/small.tgz","integrity":"sha512-%s"}}}}`, base64.StdEncoding.EncodeToString(sum[:]))
		case "/small.tgz":
			_, _ = w.Write(archive.Bytes())
		default:
			http.NotFound(w, r)
		}
	})
}
