package guard

import (
	"path/filepath"
	"slices"
	"strings"
)

// Call is a tool call as the guard sees it.
type Call struct {
	Tool      string
	Command   string   // of bash
	Paths     []string // files that it names; relative ones are in Workspace
	Host      string   // the host that it fetches from
	Reach     []string // the hosts that a command of bash asks for, as its caller names them
	Workspace string
	Home      string // of the person, for ~ in patterns
}

// Facts are what a decision depends on besides the call and the rules.
type Facts struct {
	Tainted bool   // the turn has read text from outside
	Default Action // where no rule fits
	Writes  Action // where no rule fits a file that a redirection writes; empty: allow
}

// Decision is what becomes of a call. Rule is the rule that decided; nil: none did, and
// the default applies.
type Decision struct {
	Do   Action
	Rule *Rule
	What string // the part of the call that decided: a command, a file, > and a file, a host
	Why  string // the reason when fika itself decided, without a rule
	// Unknown means that the rule applies because nobody can know what runs, not because
	// of the words.
	Unknown bool
	// Opens lists the protected files that a command may change if a person says yes to
	// it, because the rules that ask name them. They are absolute.
	Opens []string
}

// Decide applies rules to a call. A deny wins over everything; between ask and allow the
// rule with more literal characters wins, and a tie asks. A call with several parts,
// such as the commands of a pipe, is as severe as its severest part.
func Decide(c Call, rules []Rule, f Facts) Decision {
	var fitting []Rule
	for _, r := range rules {
		if r.forTool(c.Tool) && (!r.Tainted || f.Tainted) {
			fitting = append(fitting, r)
		}
	}
	verdict := Decision{Do: Allow}
	judged := false
	worse := func(d Decision) {
		if !judged || d.Do.severity() > verdict.Do.severity() {
			verdict = d
		}
		judged = true
	}
	var opened []string
	script := readScript(c.Command, c.Workspace)
	for _, cmd := range script.commands {
		if d, ok := judgeCommand(cmd, fitting, f); ok {
			worse(d)
			if d.Rule != nil {
				opened = append(opened, opens(c, d, Word{d.Rule.Path, true})...)
			}
		}
	}
	for _, p := range slices.Concat(script.targets, implied(script.commands), c.known()) {
		if d, ok := judgePath(c, p, fitting); ok {
			worse(d)
			opened = append(opened, opens(c, d, p)...)
		}
	}
	for _, p := range script.writes {
		if _, ruled := judgePath(c, p, fitting); !ruled && f.Writes != "" && !isDevice(p) {
			worse(Decision{Do: f.Writes, What: writeMark + p.Text})
		}
	}
	if c.Host != "" {
		worse(judge(fitting, f, c.Host, func(r Rule) bool { return r.Match == "" && r.Path == "" && matchHost(r.Host, c.Host) }))
	}
	if !judged {
		worse(judge(fitting, f, c.Tool, func(r Rule) bool { return r.Match == "" && r.Path == "" && r.Host == "" }))
	}
	if verdict.Do == Ask {
		slices.Sort(opened)
		verdict.Opens = slices.Compact(opened)
	}
	return verdict
}

// writeMark begins [Decision.What] where a file that a redirection writes decided.
const writeMark = "> "

// isDevice reports whether a word names what keeps nothing of what is written to it.
func isDevice(w Word) bool {
	return w.Known && (has("/dev/null /dev/stdout /dev/stderr /dev/tty", w.Text) || strings.HasPrefix(w.Text, "/dev/fd/"))
}

// known returns the paths of the call as words.
func (c Call) known() []Word {
	var out []Word
	for _, p := range c.Paths {
		out = append(out, Word{Text: p, Known: true})
	}
	return out
}

// judge finds the rule that decides among those that fit.
func judge(rules []Rule, f Facts, what string, fits func(Rule) bool) Decision {
	d := Decision{Do: f.Default, What: what}
	for i, r := range rules {
		if !fits(r) {
			continue
		}
		switch {
		case r.Do == Deny:
			return Decision{Do: Deny, Rule: &rules[i], What: what}
		case d.Rule == nil, r.literals() > d.Rule.literals(),
			r.literals() == d.Rule.literals() && r.Do == Ask:
			d.Do, d.Rule = r.Do, &rules[i]
		}
	}
	return d
}

// judgeCommand applies rules to one simple command. It returns false for a partial one
// about which no rule asks or denies. What is in a script is not known, so that rules
// that ask or deny take it for what they name, unless a rule allows the script by name.
func judgeCommand(c SimpleCommand, rules []Rule, f Facts) (Decision, bool) {
	allows := func(r Rule) bool {
		return r.Do == Allow && r.Path == "" && r.Host == "" && !c.Partial && c.surelyMatches(r.Match)
	}
	script := c.Script && !slices.ContainsFunc(rules, func(r Rule) bool { return namesWords(r.Match) && allows(r) })
	d := judge(rules, f, c.String(), func(r Rule) bool {
		if r.Do == Allow || r.Host != "" || r.Path != "" && (r.Match == "" || r.Do != Ask) {
			return allows(r)
		}
		return script || c.mayMatch(r.Match)
	})
	d.Unknown = d.Rule != nil && d.Do != Allow && namesWords(d.Rule.Match) && (c.Unsure || !c.mayMatch(d.Rule.Match))
	return d, !c.Partial || d.Rule != nil
}

// judgePath applies rules about paths; it returns false if no rule is about the path. A
// path that cannot be known matches every rule that tightens.
func judgePath(c Call, w Word, rules []Rule) (Decision, bool) {
	d := judge(rules, Facts{}, w.Text, func(r Rule) bool {
		switch {
		case r.Path == "" || r.Match != "":
			return false
		case !w.Known:
			return r.Do != Allow
		}
		return matchPath(c.absolute(r.Path), c.absolute(w.Text))
	})
	return d, d.Rule != nil
}

// absolute returns a path or pattern with workspace and ~ filled in.
func (c Call) absolute(p string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		return filepath.Join(c.Home, rest)
	}
	if p == "~" {
		return c.Home
	}
	if !filepath.IsAbs(p) {
		return filepath.Join(c.Workspace, p)
	}
	return filepath.Clean(p)
}

// matchPath matches folder by folder: * within a name, ** across any number of folders.
func matchPath(pattern, path string) bool {
	return matchParts(strings.Split(pattern, "/"), strings.Split(path, "/"))
}

func matchParts(pattern, path []string) bool {
	for i, p := range pattern {
		if p == "**" {
			for rest := range len(path) - i + 1 {
				if matchParts(pattern[i+1:], path[i+rest:]) {
					return true
				}
			}
			return false
		}
		if i >= len(path) {
			return false
		}
		if ok, err := filepath.Match(p, path[i]); !ok || err != nil {
			return false
		}
	}
	return len(pattern) == len(path)
}

// matchHost compares hosts without regard to case; *. stands for any subdomain.
func matchHost(pattern, host string) bool {
	pattern, host = strings.ToLower(pattern), strings.ToLower(strings.TrimSuffix(host, "."))
	if below, ok := strings.CutPrefix(pattern, "*."); ok {
		return strings.HasSuffix(host, "."+below)
	}
	return pattern == "" || pattern == host
}
