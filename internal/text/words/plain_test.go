package words_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// plain are words that no text of the program has, with what is written in their place.
var plain = map[string]string{
	`\b[Mm]end(s|ed|ing)?\b`:                "fix",
	`\b(anew|afresh)\b`:                     "again",
	`\bin force\b`:                          "in use, active, takes effect",
	`\bgoes on\b`:                           "continues, resumes",
	`\byour word\b`:                         "your approval",
	`\bexcludes? each other\b`:              "cannot be used together",
	`\b(is|for) (a|each) person('s)? to\b`:  "can only be run by a person; cannot set",
	`\bsays? --\w`:                          "use, specify",
	`\bcome to its limit\b|\bused up its\b`: "reached its limit of, limit reached",
	`\b(running|up) already\b`:              "is already",
	`\bwhat shall\b`:                        "the prompt is missing",
	`\bfour fifths\b|\bbeyond all reason\b`: "80%, between A and B",
	`\b(is|are) not told\b`:                 "are not notified",
	`\bwithout a word\b`:                    "without an error message",
	`\bdid not come up\b|\bcome up\b`:       "failed to start",
	`\bthere is no (agent|chat|schedule|workflow|template|team|run|file|approval|plugin|project) (%|\\?")`: "X not found",
	`\bno (agent|chat|context|schedule|workflow|template|team|plugin|skill|project) named (%|\\?")`:        "X not found",
	`\bthere is an? (agent|chat|schedule|server|budget|member|context|conversation)\b.*\balready\b`:        "X already exists",
	`\b(%q|%s) is no (number|file|name|picture|folder|chat|context|model|plugin|project|regular file)\b`:   "is not a",
}

// TestPlainWords: no text of the program, but for those of models, patterns of words and
// the stand-ins of tests, has a word of the list.
func TestPlainWords(t *testing.T) {
	patterns := map[*regexp.Regexp]string{}
	for p, better := range plain {
		patterns[regexp.MustCompile(p)] = better
	}
	n := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); strings.HasSuffix(name, "test") && name != "testdata" || name == "testdata" || name == "importtest" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if field, is := node.(*ast.Field); is && field.Tag != nil {
				return false // what a schema says to a model
			}
			lit, is := node.(*ast.BasicLit)
			if !is || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil || !strings.Contains(text, " ") {
				return true
			}
			n++
			for p, better := range patterns {
				if found := p.FindString(text); found != "" {
					t.Errorf("%s: %q: write %s", set.Position(lit.Pos()), found, better)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || n < 5000 {
		t.Fatalf("%d texts seen: %v", n, err)
	}
}
