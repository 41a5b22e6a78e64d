package mention

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fika"
)

var crowd = Known{Agents: []fika.AgentName{"arya", "gendry"}, Human: "Ann", People: []string{"Bob", "arya-x"}}

// TestPlaces: every @name is reported, with the reason if it does not count.
func TestPlaces(t *testing.T) {
	p := New()
	for text, want := range map[string]string{
		"nothing here":                       "",
		"@arya":                              "arya agent",
		"@Arya's":                            "arya agent",
		"@aria":                              "aria ~arya",
		"@bob and @ann, @user":               "bob person, ann person, user person",
		"@arya-x":                            "arya-x person",
		"@all":                               "all all",
		"`@arya`":                            "arya agent code",
		"```\n@arya\n```\n@gendry":           "arya agent code, gendry agent",
		"    @arya":                          "arya agent code",
		"[@arya](x)":                         "arya agent link",
		"<https://x.example/@arya>":          "",
		"<mailto:x@arya.example>":            "",
		"> @arya said\n\n@gendry":            "arya agent quote, gendry agent",
		"<code>@arya</code> @gendry":         "arya agent code, gendry agent",
		"<blockquote>@arya</blockquote>":     "arya agent quote",
		"<!-- @arya -->":                     "arya agent html",
		"x@arya ./@arya @@arya \\@arya":      "arya agent bound, arya agent bound, arya agent bound, arya agent bound",
		"https://x.example/a?@arya @gendry":  "arya agent bound, gendry agent",
		"@arya and `@arya`":                  "arya agent code, arya agent",
		"<div>\n@arya\n</div>":               "arya agent",
		strings.Repeat("> ", 40) + "@arya":   "",
		"@":                                  "",
		"@\xff @arya":                        "arya agent",
		"<a href=x>@arya</a>":                "arya agent link",
		"<script>\n@arya\n</script>":         "arya agent html",
		"*@arya*, **@gendry** and _@nobody_": "arya agent, gendry agent, nobody",
	} {
		var got []string
		for _, x := range p.FindPlaces(text, crowd) {
			w := x.Name
			switch {
			case x.Agent != "":
				w += " agent"
			case x.Person:
				w += " person"
			case x.All:
				w += " all"
			case len(x.Near) > 0:
				w += fmt.Sprint(" ~", x.Near[0])
			}
			if x.Hidden != "" {
				w += " " + string(x.Hidden)
			}
			got = append(got, w)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q: %s, want %s", text, strings.Join(got, ", "), want)
		}
	}
}

// FuzzPlaces: the places that are not hidden are exactly those that Parse finds.
func FuzzPlaces(f *testing.F) {
	for _, seed := range []string{"@arya `@gendry` > @all", "> @arya\n\n<a>@gendry</a>", "```\n@arya\n", "@aria @user https://x/@arya", "<div>\n<code>@arya</code>\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := New()
		found := p.Parse(text, crowd)
		var r Result
		for _, x := range p.FindPlaces(text, crowd) {
			if x.Hidden != "" {
				continue
			}
			r.Human, r.All = r.Human || x.Person, r.All || x.All
			if x.Agent != "" && !slices.Contains(r.Agents, x.Agent) {
				r.Agents = append(r.Agents, x.Agent)
			}
		}
		if !slices.Equal(r.Agents, found.Agents) || r.Human != found.Human || r.All != found.All {
			t.Errorf("%q: %+v, and %+v", text, r, found)
		}
	})
}
