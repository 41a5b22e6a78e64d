package project

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fika"
)

// ground is a person's folder with a repository in it.
type ground struct {
	t    *testing.T
	home string
	repo string
}

func newGround(t *testing.T) ground {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := ground{t, home, filepath.Join(home, "src", "shop")}
	g.mkdir(".fika", "src/shop/.git", "src/shop/sub/dir")
	return g
}

func (g ground) mkdir(dirs ...string) {
	g.t.Helper()
	for _, d := range dirs {
		if err := os.MkdirAll(filepath.Join(g.home, d), 0o755); err != nil {
			g.t.Fatal(err)
		}
	}
}

func (g ground) write(path, text string) {
	g.t.Helper()
	path = filepath.Join(g.home, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		g.t.Fatal(err)
	}
}

// worktree makes a further working tree of the repository, as git does.
func (g ground) worktree(name string) string {
	admin := "src/shop/.git/worktrees/" + filepath.Base(name)
	g.write(admin+"/commondir", "../..\n")
	g.write(admin+"/gitdir", filepath.Join(g.home, name, ".git")+"\n")
	g.write(name+"/.git", "gitdir: "+filepath.Join(g.home, admin)+"\n")
	return name
}

func (g ground) find(dir string) (*Project, []string) {
	return Find(Search{Dir: filepath.Join(g.home, dir), Home: g.home, User: filepath.Join(g.home, ".fika")})
}

func TestFindSharesAProject(t *testing.T) {
	g := newGround(t)
	g.mkdir("src/shop/.fika")
	main, _ := g.find("src/shop")
	if main == nil || main.Root != g.repo || main.Name() != "shop" || !strings.HasPrefix(main.ID, "shop-") {
		t.Fatalf("the root of a repository is %+v", main)
	}
	if sub, _ := g.find("src/shop/sub/dir"); sub == nil || *sub != *main {
		t.Errorf("below it is %+v, not %+v", sub, main)
	}
	tree := g.worktree("wt")
	if p, _ := g.find(tree); p == nil || p.ID != main.ID || p.Main != g.repo {
		t.Errorf("a working tree without a .fika is %+v", p)
	}
	g.mkdir(tree+"/.fika", tree+"/deep")
	if p, _ := g.find(tree + "/deep"); p == nil || p.ID != main.ID || p.Main != g.repo || p.Root != filepath.Join(g.home, tree) {
		t.Errorf("a working tree with one is %+v", p)
	}
	inside := g.worktree(".fika/projects/" + main.ID + "/worktrees/coder")
	if p, _ := g.find(inside); p == nil || p.ID != main.ID {
		t.Errorf("an agent's working tree is %+v", p)
	}
}

func TestFindStops(t *testing.T) {
	g := newGround(t)
	for _, dir := range []string{"", "src", "src/shop", "src/shop/sub", ".fika", ".fika/contexts"} {
		g.mkdir(dir)
		if p, passed := g.find(dir); p != nil || len(passed) > 0 {
			t.Errorf("%q is in %+v, passing %v", dir, p, passed)
		}
	}
	g.mkdir("src/.fika") // above the repository
	if p, _ := g.find("src/shop/sub"); p != nil {
		t.Errorf("the search left the repository: %+v", p)
	}
	if p, _ := g.find("src"); p == nil {
		t.Error("a folder without a repository is no project")
	}
}

func TestFindPassesOver(t *testing.T) {
	g := newGround(t)
	at := filepath.Join(g.repo, ".fika")
	tests := []struct {
		name string
		make func() error
		want string
	}{
		{"a link", func() error { return os.Symlink(filepath.Join(g.home, ".fika"), at) }, "symbolic link"},
		{"a file", func() error { return os.WriteFile(at, nil, 0o600) }, "not a folder"},
		{"shared", func() error { return firstError(os.Mkdir(at, 0o700), os.Chmod(at, 0o777)) }, "everybody can write it"},
		{"foreign", func() error { return firstError(os.Mkdir(at, 0o700), os.Chown(at, 12345, 12345)) }, "belongs to another user"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "foreign" && os.Geteuid() != 0 {
				t.Skip("only root can give a folder away")
			}
			if err := tt.make(); err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(at)
			p, passed := g.find("src/shop/sub")
			if p != nil || len(passed) != 1 || !strings.Contains(passed[0], tt.want) {
				t.Errorf("found %+v, passed over %q", p, passed)
			}
		})
	}
}

// A .git file that names somebody else's repository does not make this folder a
// working tree of it.
func TestFindDisbelievesStrangers(t *testing.T) {
	g := newGround(t)
	g.mkdir("src/shop/.fika", "evil/.fika")
	main, _ := g.find("src/shop")
	g.worktree("wt")
	g.write("evil/.git", "gitdir: "+filepath.Join(g.repo, ".git/worktrees/wt")+"\n")
	if p, _ := g.find("evil"); p == nil || p.ID == main.ID {
		t.Errorf("evil is %+v", p)
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestTrustIsOfBytes(t *testing.T) {
	g := newGround(t)
	g.write("src/shop/.fika/config.toml", "# one\n")
	g.write("src/shop/AGENTS.md", "be nice\n")
	p, _ := g.find("src/shop")
	g.mkdir(".fika/projects/" + p.ID)
	if got := p.State(g.repo); got != Untrusted {
		t.Fatalf("a new project is %s", got)
	}
	tree, err := Read(g.repo, true)
	if err != nil {
		t.Fatal(err)
	}
	g.write("src/shop/.fika/config.toml", "# two\n") // between the look and the yes
	if err := p.Accept(tree, true, time.Now()); err != nil {
		t.Fatal(err)
	}
	agreed, err := p.AgreedFiles()
	if err != nil || agreed.Digest() != tree.Digest() || string(agreed.Get(".fika/config.toml").Data) != "# one\n" {
		t.Errorf("in force is %+v, %v", agreed, err)
	}
	if got := p.State(g.repo); got != Changed {
		t.Errorf("a changed file leaves it %s", got)
	}
	g.write("src/shop/.fika/config.toml", "# one\n")
	if got := p.State(g.repo); got != Trusted {
		t.Errorf("the same bytes leave it %s", got)
	}
	g.write("src/shop/sub/AGENTS.md", "obey\n")
	if got := p.State(g.repo); got != Trusted {
		t.Errorf("instructions elsewhere leave it %s", got)
	}
	if got := p.State(filepath.Join(g.repo, "sub", "dir")); got != Changed {
		t.Errorf("instructions on the way leave it %s", got)
	}
	if err := p.Revoke(); err != nil || p.State(g.repo) != Untrusted || p.Copy() != "" {
		t.Errorf("taken back it is %s, %v", p.State(g.repo), err)
	}
}

func TestReadRefuses(t *testing.T) {
	g := newGround(t)
	if _, err := Read(g.repo, false); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("no .fika gives %v", err)
	}
	g.mkdir("src/shop/.fika/agents")
	if err := os.Symlink("/etc/passwd", filepath.Join(g.repo, ".fika", "agents", "x.md")); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(g.repo, false); !fika.IsKind(err, fika.Invalid) {
		t.Errorf("a link gives %v", err)
	}
	_ = os.Remove(filepath.Join(g.repo, ".fika", "agents", "x.md"))
	g.write("src/shop/.fika/big", strings.Repeat("x", maxBytes+1))
	if _, err := Read(g.repo, false); !fika.IsKind(err, fika.Invalid) {
		t.Errorf("a huge file gives %v", err)
	}
}

func TestDiff(t *testing.T) {
	before := Tree{Files: []File{{Path: "a", Data: []byte("1\n2\n3\n4\n5\n6\n7\n")}, {Path: "gone", Data: []byte("x\n")}, {Path: "same", Data: []byte("s")}}}
	after := Tree{Files: []File{{Path: "a", Data: []byte("1\n2\n3\n4\nfive\n6\n7\n")}, {Path: "bin", Data: []byte{0, 1}}, {Path: "same", Data: []byte("s"), Exec: true}}}
	var got []string
	for _, c := range DiffTrees(before, after) {
		got = append(got, c.Path+" "+c.What+" "+strings.Join(c.Lines, "|"))
	}
	want := []string{"a changed @@ 2 lines as before| 3| 4|-5|+five| 6| 7", "bin new ", "gone removed -x", "same now executable "}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nnot %q", got, want)
	}
}

func TestMoveAndForget(t *testing.T) {
	g := newGround(t)
	g.write("src/shop/.fika/config.toml", "")
	p, _ := g.find("src/shop")
	g.write(".fika/projects/"+p.ID+"/fika.db", "data")
	if err := p.NoteIdentity(time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(g.home, "src"), filepath.Join(g.home, "work")); err != nil {
		t.Fatal(err)
	}
	list, err := List(filepath.Join(g.home, ".fika"))
	if err != nil || len(list) != 1 || !list[0].Gone || list[0].Main != g.repo {
		t.Fatalf("after the folder moved: %+v, %v", list, err)
	}
	to, _ := g.find("work/shop")
	if to.ID == p.ID {
		t.Fatal("the id is not of the place")
	}
	if err := list[0].MoveTo(to, time.Now()); err != nil {
		t.Fatal(err)
	}
	again, err := Load(to.Home)
	if err != nil || again.Main != to.Main {
		t.Errorf("the home says %+v, %v", again, err)
	}
	if data, _ := os.ReadFile(filepath.Join(to.Home, "fika.db")); string(data) != "data" {
		t.Error("the data did not come along")
	}
	if err := to.Forget(); err != nil {
		t.Fatal(err)
	}
	if list, err := List(filepath.Join(g.home, ".fika")); err != nil || len(list) != 0 {
		t.Errorf("after forget: %+v, %v", list, err)
	}
}
