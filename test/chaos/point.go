package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// elsewhere maps points that no scene of this program passes to the place where they
// are tried instead.
var elsewhere = map[string]string{
	"read-limits":      "an agent whose hour is used up rests for an hour: storetest",
	"archive-rows":     "only rows of long ago are archived: internal/store/archive",
	"settle-archive":   "the same",
	"put-archive-back": "the same",
	"prune-events":     "only events of a week ago are removed: storetest",
	"name-store":       "it names a copy that nobody uses before it is complete: e2e TestRestoreElsewhereTouchesNothingThatLives",
	// A person at a terminal gives texts to a turn under way.
	"take-inputs":    "internal/turn TestSteerOutlivesCrashes, and storetest on both engines",
	"withdraw-input": "the same",
	// Agents that are gone for minutes, and times that are over.
	"open-lapsed-tasks": "storetest on both engines",
	"hold-overdue-task": "the same",
	// The turns of a guest, with its program or without.
	"prompt-guest":      "internal/turn TestGuestOutlivesCrashes, and storetest on both engines",
	"settle-guest":      "the same",
	"hold-approval":     "the same",
	"end-held-approval": "storetest on both engines",
	// Agents of scenes start nothing in the background.
	"start-job":        "internal/cli TestScript/job, internal/tool/job, and storetest on both engines",
	"note-job-process": "the same",
	"finish-job":       "the same",
	"lose-job":         "the same",
	"ask-job-end":      "the same",
	// Programs that come in, and what they collect.
	"create-token":      "internal/service TestAWriteWithAKeyOutlivesKills",
	"revoke-token":      "the same",
	"note-use-of-token": "storetest on both engines",
	"count-events":      "storetest on both engines",
	"count-ledger":      "the same",
	// Receivers of events.
	"post-webhook":    "e2e TestWebhookOutlivesItsHub",
	"post-spans":      "e2e TestTracesOutliveTheirHub",
	"begin-webhook":   "the same",
	"keep-webhook":    "the same",
	"refuse-delivery": "internal/report/webhook",
	"end-delivery":    "the same",
	"retry-delivery":  "the same",
	// Agents that go to another host, and what several hosts have of one.
	"move-to-host":           "test/machines TestCrashesOfMoves",
	"send-to-host":           "the same",
	"take-at-host":           "the same",
	"keep-at-host":           "the same",
	"share-text":             "the same",
	"set-conflicts-of-texts": "the same",
	"put-host-on-demand":     "one row in one transaction: internal/store TestOnDemand, test/machines TestHostOnDemand",
	"command-for-host":       "a hub is killed while the command runs: test/machines TestHostOnDemand",
	"want-host-on-demand":    "the same",
	"drop-hosts-on-demand":   "the same",
	"keep-workspace":         "test/machines TestCrashesOfTakeovers",
	"tell-of-files":          "the same",
	"take-over":              "the same",
	"refuse-takeover":        "the same",
	// Every write with a key is repeated through kills: TestKeys.
	"intend":        "internal/service TestAWriteWithAKeyOutlivesKills",
	"finish-intent": "internal/service TestAWriteWithAKeyOutlivesKills",
	"speak":         "internal/service TestAnAgentSpeaksOnlyWhileItsRequestRuns",
}

// never returns why no scene can pass a point on an engine, or "".
func (o options) never(point string) string {
	point = strings.TrimSuffix(strings.TrimSuffix(point, ".before"), ".after")
	switch {
	case o.engine == "postgres" && point == "index-words":
		return "a server's words are indexed with what they are in"
	case o.engine != "postgres" && (strings.HasSuffix(point, "-host") || point == "renew-idle-leases"):
		return "only hubs that share a server are hosts"
	case o.engine != "postgres" && point == "set-store-aside":
		return "a file is renamed: only a schema on a server is replaced by the store"
	}
	return elsewhere[point]
}

// points reads the crash points from the source: the names passed to Point and Torn,
// and one before and one after the commit of each operation of the store. So a new
// operation is tried from the day it is written, and a missing scene for it is noticed
// at once.
func points(root string) ([]string, error) {
	var all []string
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		names, err := pointsIn(path)
		all = append(all, names...)
		return err
	})
	slices.Sort(all)
	all = slices.Compact(all)
	if err == nil && len(all) < 20 {
		err = fmt.Errorf("only %d crash points found under %s", len(all), root)
	}
	return all, err
}

// writers lists the functions of the store whose second argument names the operation.
var writers = [...]string{"write", "writeRelaxed", "writeWith", "withinLease", "fenced", "control"}

// pointsIn reads the files of one folder.
func pointsIn(dir string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	var decls []ast.Decl
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return nil, err
		}
		decls = append(decls, file.Decls...)
	}
	return pointsOf(decls, filepath.Base(dir) == "store"), nil
}

func pointsOf(decls []ast.Decl, store bool) []string {
	shared := map[string]string{}
	for _, d := range decls {
		if g, ok := d.(*ast.GenDecl); ok {
			constants(g, shared)
		}
	}
	var all []string
	for _, d := range decls {
		ops := maps.Clone(shared)
		constants(d, ops)
		ast.Inspect(d, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			x, _ := f.X.(*ast.Ident)
			switch {
			case x != nil && x.Name == "crash" && (f.Sel.Name == "Point" || f.Sel.Name == "Torn"):
				if s, ok := text(call.Args[0], ops); ok {
					all = append(all, dashed(s))
				}
			case store && slices.Contains(writers[:], f.Sel.Name) && len(call.Args) > 2:
				if s, ok := text(call.Args[1], ops); ok {
					all = append(all, dashed(s)+".before", dashed(s)+".after")
				}
			}
			return true
		})
	}
	return all
}

func dashed(s string) string { return strings.ReplaceAll(s, " ", "-") }

// text returns the value of a string literal, or of a constant of the function or the
// file.
func text(e ast.Expr, ops map[string]string) (string, bool) {
	switch x := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(x.Value)
		return s, err == nil
	case *ast.Ident:
		s, ok := ops[x.Name]
		return s, ok
	}
	return "", false
}

// constants adds the string constants of a declaration.
func constants(d ast.Decl, found map[string]string) {
	ast.Inspect(d, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == len(v.Names) {
			for i, name := range v.Names {
				if s, ok := text(v.Values[i], nil); ok {
					found[name.Name] = s
				}
			}
		}
		return true
	})
}
