package approval

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fika"
	"fika/internal/rights/guard"
	"fika/internal/tool"
	"fika/internal/turn"
)

// Limits on the files that a call names and a digest reads.
const (
	maxFiles    = 64
	maxFileSize = 16 << 20
)

// Judge judges the tool calls of one agent.
type Judge struct {
	Rules   []guard.Rule
	Default guard.Action // where no rule fits; empty: allow
	Because string       // why that is the default; empty: [guard] default
	Home    string       // of the person, for ~ in rules
	Policy  guard.Policy // for turns that have read text from outside
	// Unconfined reports whether a person wants commands confined and nothing here can
	// do so: then a call that starts a process asks where no rule fits.
	Unconfined func() bool
	// Off says that no person wants commands confined.
	Off bool
	// ByHost reports whether commands have no network but a proxy that tells hosts apart;
	// nil: they have not. Hosts are those that the settings allow.
	ByHost func() bool
	Hosts  []string
	Lend   []string // what the settings let commands read of what is hidden
	// Starts reports whether a tool starts processes that can do anything; nil: none
	// does.
	Starts func(tool string) bool
}

// Judge returns the verdict on a call.
func (j Judge) Judge(c tool.Call) turn.Verdict {
	call := guard.Call{Tool: c.Name, Workspace: c.Workspace, Home: j.Home}
	call.Read(c.Args)
	facts := guard.Facts{Default: j.Default, Tainted: c.Taint != ""}
	if facts.Default == "" {
		facts.Default = guard.Allow
	}
	asks := ""
	if facts.Default == guard.Allow {
		if asks = j.asksFor(c); asks != "" {
			facts.Default = guard.Ask
		}
	}
	if facts.Writes = facts.Default; asks != "" && c.Mode == fika.EditMode && j.confines() {
		facts.Writes = guard.Allow // the mode lets files be changed
	}
	d := guard.Decide(call, j.Rules, facts)
	if facts.Tainted {
		d = j.Policy.Tighten(call, d, hostsOf(c.Rights))
	}
	d = d.WithinMode(c.Mode, c.Name)
	v := turn.Verdict{Do: d.Do, What: cmp.Or(d.What, c.Name), Rule: j.ruleText(d, asks), Opens: d.Opens}
	if asked := j.reach(&v, c, call); asked != "" && v.Do == guard.Allow {
		v.Optional = true
		v.Do, v.Rule, d = guard.Ask, asked, guard.Decision{Do: guard.Ask, What: v.What, Why: asked}
	} else if asked != "" {
		v.Rule += "; " + asked
	}
	if v.Do == guard.Ask {
		v.Bound = append(bound(c, call, d.Opens), ruleBehind(d))
		if len(v.Reaches) > 0 {
			v.Bound = append(v.Bound, guard.BoundTo{Name: BoundHosts, State: state(v.Reaches...)})
		}
		if len(v.Lends) > 0 {
			v.Bound = append(v.Bound, guard.BoundTo{Name: "the logins it may read", State: state(v.Lends...)})
		}
		v.Hint = hint(d, call)
		if _, note := call.Runs(); note != "" {
			v.Rule += "; " + note
		}
	}
	return v
}

// asksFor says why a call asks a person where no rule fits and the settings allow it; "": it
// does not.
func (j Judge) asksFor(c tool.Call) string {
	starts := j.Starts != nil && j.Starts(c.Name)
	bare := starts && !j.Off && !j.confines()
	mode := c.Mode
	if mode == fika.AutoMode && starts && !j.confines() {
		mode = fika.EditMode
	}
	switch {
	case guard.AsksIn(mode, c.Name, starts):
		return string(mode) + " mode"
	case bare:
		return "nothing here can confine commands"
	}
	return ""
}

// confines reports whether commands are confined.
func (j Judge) confines() bool { return !j.Off && !j.Unconfined() }

// Bind returns the state of a call and of everything that it depends on.
func (j Judge) Bind(c tool.Call) guard.Bound {
	call := guard.Call{Tool: c.Name, Workspace: c.Workspace, Home: j.Home}
	call.Read(c.Args)
	return bound(c, call, nil)
}

// ruleBehind returns the state of what made a decision: an answer to another rule's
// question does not count.
func ruleBehind(d guard.Decision) guard.BoundTo {
	text := d.Why
	if d.Rule != nil {
		text = d.Rule.TOML()
	}
	return guard.BoundTo{Name: "the rules", State: state(text)}
}

func hostsOf(r *fika.Rights) []string {
	if r == nil {
		return nil
	}
	return r.Hosts
}

// ruleText names what made the decision: where no rule did, asks if a question came of that.
func (j Judge) ruleText(d guard.Decision, asks string) string {
	switch {
	case d.Rule == nil && d.Why != "":
		return d.Why
	case d.Rule == nil && asks != "":
		return asks
	case d.Rule == nil:
		return cmp.Or(j.Because, "[guard] default")
	}
	text := "rule " + d.Rule.Where
	if d.Rule.Why != "" {
		text += ": " + d.Rule.Why
	}
	if d.Unknown {
		text += fmt.Sprintf(" (for %q: what this runs cannot be known)", d.Rule.Match)
	}
	if len(d.Opens) > 0 {
		text += "; yes lets this call change " + strings.Join(d.Opens, ", ")
	}
	return text
}

// hint returns a rule that would spare the question, or says which rule would have to
// change; empty: the question comes each time.
func hint(d guard.Decision, c guard.Call) string {
	r, ok := d.AllowingRule(c)
	switch {
	case len(d.Opens) > 0: // asks each time
		return ""
	case ok:
		return r.TOML()
	case d.Rule == nil || d.Unknown:
		return "(no rule can allow it: nobody can know what it runs, or where)"
	}
	return fmt.Sprintf("(no rule would win over the one at %s: change that)", d.Rule.Where)
}

func state(texts ...string) string {
	h := sha256.New()
	for _, s := range texts {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// bound returns the state of the call and of everything it depends on: scripts first, then
// the files in which programs look up what to run, also those that are missing, then what
// its words name.
func bound(c tool.Call, g guard.Call, opens []string) guard.Bound {
	tier := ""
	if c.Confine != nil {
		tier = c.Confine.Tier()
	}
	b := guard.Bound{
		{Name: "the call", State: state(c.Name, string(c.Args), string(c.Agent), c.Context)},
		{Name: "the folder it runs in", State: state(c.Workspace)},
		{Name: "how it is confined", State: state(tier)},
	}
	if len(opens) > 0 {
		b = append(b, guard.BoundTo{Name: "what it may change", State: state(opens...)})
	}
	read, _ := g.Runs()
	scripts := g.Scripts()
	held := map[string]bool{}
	for i, name := range slices.Concat(scripts, read, g.Files()) {
		if held[name] || len(held) >= maxFiles {
			continue
		}
		sum, err := digest(absolute(name, g, c.Workspace))
		switch {
		case err == nil:
			b = append(b, guard.BoundTo{Name: name, State: state(sum)})
		case i < len(scripts)+len(read):
			b = append(b, guard.BoundTo{Name: name, State: "missing"})
		default:
			continue
		}
		held[name] = true
	}
	return b
}

func absolute(name string, g guard.Call, workspace string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		return filepath.Join(g.Home, rest)
	}
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(workspace, name)
}

// digest returns the digest of a regular file; for one larger than maxFileSize, its size
// and modification time.
func digest(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fika.Errorf(fika.Invalid, "", "%s is not a file", path)
	}
	if info.Size() > maxFileSize {
		return fmt.Sprint(info.Size(), info.ModTime().UnixNano()), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return string(h.Sum(nil)), nil
}
