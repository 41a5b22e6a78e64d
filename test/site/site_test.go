package site

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"golang.org/x/net/html"
)

const root = "../.."

// page is what a link can lead to, and the links it has.
type page struct {
	anchors map[string]bool
	links   []string
}

var (
	rawAnchor = regexp.MustCompile(`<a\s[^>]*(?:id|name)="([^"]+)"`)
	rawLink   = regexp.MustCompile(`<(?:a|img|source)\s[^>]*(?:href|src|srcset)="([^"]+)"`)
)

// markdown reads a Markdown file.
func markdown(t *testing.T, name string) page {
	t.Helper()
	source, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p := page{anchors: map[string]bool{}}
	raw := func(b []byte) {
		for _, m := range rawAnchor.FindAllSubmatch(b, -1) {
			p.anchors[string(m[1])] = true
		}
		for _, m := range rawLink.FindAllSubmatch(b, -1) {
			p.links = append(p.links, string(m[1]))
		}
	}
	tree := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	err = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			p.anchors[free(p.anchors, anchorOf(words(n, source)))] = true
		case *ast.Link:
			p.links = append(p.links, string(n.Destination))
		case *ast.Image:
			p.links = append(p.links, string(n.Destination))
		case *ast.HTMLBlock:
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				raw(line.Value(source))
			}
		case *ast.RawHTML:
			for i := range n.Segments.Len() {
				segment := n.Segments.At(i)
				raw(segment.Value(source))
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// words returns the text of a node, without its marks.
func words(n ast.Node, source []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if leaf, ok := c.(*ast.Text); ok {
			b.Write(leaf.Segment.Value(source))
		} else {
			b.WriteString(words(c, source))
		}
	}
	return b.String()
}

// anchorOf returns the anchor that a heading has on GitHub, and in the site.
func anchorOf(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// free numbers an anchor that is taken.
func free(taken map[string]bool, anchor string) string {
	for i, name := 0, anchor; ; i, name = i+1, fmt.Sprintf("%s-%d", anchor, i+1) {
		if !taken[name] {
			return name
		}
	}
}

// check reports each relative link of a page that leads nowhere. read gives what another
// file can be linked to at; nil: not by anchors.
func check(t *testing.T, name string, p page, read func(file string) *page) {
	t.Helper()
	for _, link := range p.links {
		u, err := url.Parse(link)
		if err != nil {
			t.Errorf("%s: the link %q cannot be read: %v", name, link, err)
			continue
		}
		if u.Scheme != "" || u.Host != "" {
			continue
		}
		file := name
		if u.Path != "" {
			file = filepath.Join(filepath.Dir(name), filepath.FromSlash(u.Path))
		}
		if rel, err := filepath.Rel(root, file); strings.HasPrefix(name, root) && (err != nil || !filepath.IsLocal(rel)) {
			t.Errorf("%s: the link %s leads out of the repository", name, link)
			continue
		}
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%s: the link %s leads nowhere", name, link)
			continue
		}
		if u.Fragment == "" {
			continue
		}
		if to := read(file); to == nil || !to.anchors[u.Fragment] {
			t.Errorf("%s: the link %s leads to no heading", name, link)
		}
	}
}

// below lists the files with an ending below a folder, without those that are built.
func below(t *testing.T, dir, ending string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && name != dir && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(name, ending) {
			list = append(list, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestLinks: every relative link of a Markdown file leads to a file and, if it names one, to
// a heading of it.
func TestLinks(t *testing.T) {
	var files []string
	top, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	files = append(top, below(t, filepath.Join(root, "docs"), ".md")...)
	if len(files) < 20 {
		t.Fatalf("only %d files", len(files))
	}
	n := 0
	for _, name := range files {
		p := markdown(t, name)
		n += len(p.links)
		check(t, name, p, func(file string) *page {
			if !strings.HasSuffix(file, ".md") {
				return nil
			}
			to := markdown(t, file)
			return &to
		})
	}
	if n < 100 {
		t.Errorf("only %d links seen", n)
	}
}

// TestDeadLinks: what TestLinks is to find is found.
func TestDeadLinks(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.md")
	text := "# A `b` c.d\n## Twice\n## Twice\n[x](a.md#a-b-cd) [y](#twice-1) [z](https://example.com/none)\n"
	for link, dead := range map[string]bool{"": false, "[1](b.md)": true, "[1](#c)": true, "[1](#twice-2)": true, "![1](p.png)": true, "<img src=\"p.png\">": true, "`[1](b.md)`": false} {
		if err := os.WriteFile(name, []byte(text+link+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		p := markdown(t, name)
		found := 0
		for _, l := range p.links {
			u, _ := url.Parse(l)
			_, err := os.Stat(filepath.Join(dir, u.Path))
			if u.Scheme == "" && (err != nil || u.Fragment != "" && !p.anchors[u.Fragment]) {
				found++
			}
		}
		if (found > 0) != dead {
			t.Errorf("%q: %d dead links in %q, anchors %v", link, found, p.links, p.anchors)
		}
	}
}

// rendered reads a page of the site.
func rendered(t *testing.T, name string) page {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := page{anchors: map[string]bool{}}
	for tokens := html.NewTokenizer(f); tokens.Next() != html.ErrorToken; {
		for _, a := range tokens.Token().Attr {
			switch a.Key {
			case "id", "name":
				p.anchors[a.Val] = true
			case "href", "src":
				p.links = append(p.links, a.Val)
			}
		}
	}
	return p
}

// TestSite builds the site and follows every link of it. HUGO may name a program that is
// built already.
func TestSite(t *testing.T) {
	if os.Getenv("FULL") == "" {
		t.Skip("FULL=1: it compiles Hugo")
	}
	dir := filepath.Join(t.TempDir(), "site")
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "scripts/site.sh"), dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pages := below(t, dir, ".html")
	sources := len(below(t, filepath.Join(root, "docs"), ".md"))
	if len(pages) < sources {
		t.Fatalf("%d pages of %d files\n%s", len(pages), sources, out)
	}
	for _, name := range pages {
		p := rendered(t, name)
		if len(p.links) == 0 {
			t.Errorf("%s has no links", name)
		}
		check(t, name, p, func(file string) *page {
			to := rendered(t, file)
			return &to
		})
	}
}
