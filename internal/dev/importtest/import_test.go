package importtest

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestImports holds every import against the table, and the table against
// every import.
func TestImports(t *testing.T) {
	allowed := map[string]row{}
	for _, r := range packages(t) {
		if _, twice := allowed[r.pkg]; twice {
			t.Errorf("%s has two rows", r.pkg)
		}
		if r.why == "" {
			t.Errorf("%s has no reason", r.pkg)
		}
		if !slices.Contains(layers(), r.layer) {
			t.Errorf("%s stands under %q: the headings are %s", r.pkg, r.layer, strings.Join(layers(), ", "))
		}
		allowed[r.pkg] = r
	}
	used := map[string]map[string]bool{}
	for _, s := range tree(t) {
		if s.test {
			continue
		}
		if used[s.pkg] == nil {
			used[s.pkg] = map[string]bool{}
		}
		for _, imported := range s.imports() {
			if standard(imported) {
				continue
			}
			name := imported
			if p, ok := inModule(imported); ok {
				name = p
			}
			if name == "." || name == path.Dir(s.pkg) {
				continue
			}
			used[s.pkg][name] = true
			if !slices.Contains(allowed[s.pkg].may, name) {
				t.Errorf("%s: %s may not import %s", s.name, s.pkg, name)
			}
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(used)) {
		r, ok := allowed[pkg]
		if !ok {
			t.Errorf("%s has no row: say what it may import, and why", pkg)
		}
		for _, name := range r.may {
			if !used[pkg][name] {
				t.Errorf("stale: %s is allowed %s and does not import it", pkg, name)
			}
		}
	}
	for pkg := range allowed {
		if used[pkg] == nil {
			t.Errorf("stale: there is no package %s", pkg)
		}
	}
}

// TestTestImports: tests may use what they need, but suites and stand-ins stay
// out of the program, and a contract's test does not reach for an
// implementation above it.
func TestTestImports(t *testing.T) {
	for _, s := range tree(t) {
		for _, imported := range s.imports() {
			p, ok := inModule(imported)
			if ok && forTests(p) && !s.test && !forTests(s.pkg) {
				t.Errorf("%s imports %s, which is for tests", s.name, p)
			}
			if imported == "testing" && !s.test && !forTests(s.pkg) {
				t.Errorf("%s imports testing", s.name)
			}
			if s.test && slices.Contains(forbiddenInTests(), imported) {
				t.Errorf("%s imports %s: write the comparison out, or use go-cmp", s.name, imported)
			}
		}
	}
}

// TestGuarded keeps technologies of the standard library where they belong.
func TestGuarded(t *testing.T) {
	for _, g := range guarded {
		if g.why == "" {
			t.Errorf("%s has no reason", g.imported)
		}
		seen := map[string]bool{}
		for _, s := range tree(t) {
			if s.test || forTests(s.pkg) || !slices.Contains(s.imports(), g.imported) {
				continue
			}
			seen[s.pkg] = true
			if !slices.Contains(strings.Fields(g.only), s.pkg) {
				t.Errorf("%s imports %s, which is for %s: %s", s.name, g.imported, g.only, g.why)
			}
		}
		for _, pkg := range strings.Fields(g.only) {
			if !seen[pkg] {
				t.Errorf("stale: %s does not import %s", pkg, g.imported)
			}
		}
	}
}

// TestArrows holds what no row may allow, so that a row written in haste does
// not turn an arrow round.
func TestArrows(t *testing.T) {
	layer, at := map[string]string{}, map[string]int{}
	for i, r := range packages(t) {
		layer[r.pkg], at[r.pkg] = r.layer, i
	}
	for _, r := range packages(t) {
		for _, name := range r.may {
			below := layer[name] // empty: a library
			switch {
			case r.layer == processes && below == processes:
				t.Errorf("%s and %s are processes and do not import each other", r.pkg, name)
			case r.layer == contracts && below != contracts && below != nouns:
				t.Errorf("%s is a contract and imports the nouns only, not %s", r.pkg, name)
			case r.layer == decisions && below != decisions && below != contracts && below != nouns && name != "internal/store" && !slices.Contains(languages(), name):
				t.Errorf("%s is a decision and names no technology such as %s", r.pkg, name)
			case below == floors && r.layer != program && (r.layer != floors || at[r.pkg] < at[name]):
				t.Errorf("%s imports %s, which is above it", r.pkg, name)
			}
		}
	}
}
