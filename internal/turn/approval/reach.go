package approval

import (
	"net"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fika"
	"fika/internal/rights/guard"
	"fika/internal/system/address"
	"fika/internal/tool"
	"fika/internal/turn"
)

// BoundHosts is the name in [guard.Bound] of the hosts that a yes lets a call reach.
const BoundHosts = "the hosts it may reach"

// maxReach is how many hosts a call may ask for: nobody would read more.
const maxReach = 8

// reaches lists the hosts that a command of bash needs, as NAME or NAME:PORT: those that its
// caller names, and those that its programs are known to need. named is how many of them
// the caller names: they come first.
func reaches(c guard.Call) (hosts []string, named int) {
	add := func(list ...string) {
		for _, h := range list {
			if h = plainHost(h); h != "" && !slices.Contains(hosts, h) && len(hosts) < maxReach {
				hosts = append(hosts, h)
			}
		}
	}
	add(c.Reach...)
	named = len(hosts)
	for _, cmd := range guard.SimpleCommands(c.Command, c.Workspace) {
		words := cmd.Words
		if len(cmd.Also) > 0 { // without the options that come before git's command
			words = cmd.Also[len(cmd.Also)-1]
		}
		if !cmd.Script && len(words) > 0 {
			add(needs(words, c)...)
		}
	}
	return hosts, named
}

// plainHost returns a host without what a setting may say beside it; "" for what is none.
func plainHost(text string) string {
	text = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(text), "."))
	if strings.ContainsAny(text, "=*/@ \t\n") {
		return ""
	}
	return text
}

// needs returns the hosts that a command of a known program needs.
func needs(all []guard.Word, c guard.Call) []string {
	var words []string
	for _, w := range all {
		if w.Known && (len(words) == 0 || !strings.HasPrefix(w.Text, "-") || strings.Contains(w.Text, "://")) {
			words = append(words, w.Text)
		}
	}
	words = append(words, "", "", "")
	name, sub, more := path.Base(words[0]), words[1], words[2]
	switch name {
	case "go":
		if sub == "get" || sub == "install" && strings.Contains(more, "@") || sub == "mod" && slices.Contains([]string{"download", "tidy"}, more) {
			if _, own, ok := strings.Cut(c.Command, "GOPROXY="); ok {
				return firstURL(strings.FieldsFunc(own, func(r rune) bool { return strings.ContainsRune(", '\"\n;", r) }))
			}
			return []string{"proxy.golang.org", "sum.golang.org"}
		}
	case "npm", "pnpm":
		if slices.Contains([]string{"install", "i", "ci", "add", "update", "view"}, sub) {
			return []string{registry(words, c.Workspace)}
		}
	case "pip", "pip3":
		if sub == "install" || sub == "download" {
			return firstURL(words, "pypi.org", "files.pythonhosted.org")
		}
	case "cargo":
		if slices.Contains([]string{"fetch", "add", "update", "install", "search"}, sub) {
			return []string{"index.crates.io", "static.crates.io"}
		}
	case "gh":
		return []string{"github.com", "api.github.com"}
	case "git":
		return remote(words, c.Workspace)
	}
	return nil
}

// firstURL returns the host of the first address among words, or else the usual hosts.
func firstURL(words []string, usual ...string) []string {
	for _, w := range words {
		if h := hostOfURL(w); h != "" {
			return []string{h}
		}
	}
	return usual
}

// hostOfURL returns the host of an http or https address as a setting names it, with the
// port if that has to be named; "" for anything else.
func hostOfURL(text string) string {
	if _, value, ok := strings.Cut(text, "=http"); ok {
		text = "http" + value
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	switch {
	case u.Port() != "":
		return net.JoinHostPort(u.Hostname(), u.Port())
	case u.Scheme == "http":
		return net.JoinHostPort(u.Hostname(), "80")
	}
	return u.Hostname()
}

// registry returns the host from which npm fetches in the workspace.
func registry(words []string, workspace string) string {
	for _, line := range strings.Split(readSmall(filepath.Join(workspace, ".npmrc")), "\n") {
		if key, value, ok := strings.Cut(line, "="); ok && strings.TrimSpace(key) == "registry" {
			words = append(words, strings.TrimSpace(value))
		}
	}
	return firstURL(words, "registry.npmjs.org")[0]
}

// remote returns the host that a git command talks to: that of an address among its words,
// or of the remote that it names, or of origin.
func remote(words []string, workspace string) []string {
	if !slices.Contains([]string{"clone", "fetch", "pull", "push", "ls-remote"}, words[1]) {
		return nil
	}
	if found := firstURL(words); found != nil {
		return found
	}
	name := words[2]
	if name == "" {
		name = "origin"
	}
	within := false
	for _, line := range strings.Split(gitConfig(workspace), "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			within = line == `[remote "`+name+`"]`
		}
		if key, value, ok := strings.Cut(line, "="); within && ok && strings.TrimSpace(key) == "url" {
			return firstURL([]string{strings.TrimSpace(value)})
		}
	}
	return nil
}

// gitConfig returns the settings of the repository that holds the workspace.
func gitConfig(workspace string) string {
	for dir := workspace; len(dir) > 1; dir = filepath.Dir(dir) {
		at := filepath.Join(dir, ".git")
		if link, ok := strings.CutPrefix(readSmall(at), "gitdir: "); ok { // a working tree
			link = strings.TrimSpace(link)
			if common := strings.TrimSpace(readSmall(filepath.Join(link, "commondir"))); common != "" {
				link = filepath.Join(link, common)
			}
			return readSmall(filepath.Join(link, "config"))
		}
		if text := readSmall(filepath.Join(at, "config")); text != "" {
			return text
		}
	}
	return ""
}

// readSmall returns what is in a small regular file; "" if there is none.
func readSmall(path string) string {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return ""
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(data)
}

// reach finds the hosts that a command needs beyond those that it reaches in any case:
// those that a rule allows, or a person's yes would. It returns what a person is asked about
// them; "" if there is nothing to ask. A command of a turn that has read text from outside
// might carry out what it read: nobody is asked then, and one that names hosts is denied.
func (j Judge) reach(v *turn.Verdict, c tool.Call, call guard.Call) string {
	if c.Name != "bash" || v.Do == guard.Deny || j.ByHost == nil || c.Rights != nil && c.Rights.Network {
		return ""
	}
	tainted := c.Taint != "" && j.Policy.Taint != guard.TaintAllow
	wanted, named := reaches(call)
	if len(wanted) == 0 || !j.ByHost() {
		return ""
	}
	allowed := j.Hosts
	if c.Rights != nil {
		allowed = c.Rights.Reach
	}
	var asked []string
	for i, host := range wanted {
		switch rule := guard.ReachRule(j.Rules, host, c.Taint != ""); {
		case rule != nil && rule.Do == guard.Deny:
			v.Do, v.What, v.Rule = guard.Deny, host, "rule "+rule.Where
			return ""
		case rule != nil && rule.Do == guard.Allow && !(tainted && j.Policy.Taint == guard.TaintOffline):
			v.Reaches = append(v.Reaches, host)
		case rule == nil && isReached(allowed, host):
		case !tainted:
			v.Reaches, asked = append(v.Reaches, host), append(asked, host)
		case i < named:
			v.Do, v.What, v.Rule = guard.Deny, host, "this turn has read text from outside, so nobody is asked about hosts ([guard] tainted)"
			return ""
		}
	}
	v.Lends = j.lends(call, len(asked) > 0, tainted, c.Rights)
	needs, may := "", ""
	if len(asked) > 0 {
		needs, may = "it needs the network: "+strings.Join(asked, ", "), "reach that"
	}
	for _, name := range v.Lends {
		needs, may = joined(needs, " and ", "the stored login of "+loginOf(name)), joined(may, " and ", "read that login")
	}
	if needs == "" {
		return ""
	}
	return needs + "; yes lets this call alone " + may
}

func joined(a, between, b string) string {
	if a == "" {
		return b
	}
	return a + between + b
}

// loginOf names a stored login, with the file that a person knows it by.
func loginOf(name string) string {
	if name == guard.GitHubCLI {
		return "gh (~/.config/gh)"
	}
	return "git (~/.git-credentials)"
}

// lends returns the stored logins that a command is asked about: those that there are, and
// that settings do not lend. What only fetches goes without unless a person is asked about its
// host anyway. A turn that has read text from outside is lent none.
func (j Judge) lends(c guard.Call, asked, tainted bool, rights *fika.Rights) (out []string) {
	lent := j.Lend
	if rights != nil {
		lent = rights.Lend
	}
	if tainted || j.Home == "" {
		return nil
	}
	for _, cmd := range guard.SimpleCommands(c.Command, c.Workspace) {
		words := cmd.Words
		if len(cmd.Also) > 0 {
			words = cmd.Also[len(cmd.Also)-1]
		}
		if cmd.Script || len(words) < 2 || len(needs(words, c)) == 0 {
			continue
		}
		name := ""
		switch program := path.Base(words[0].Text); {
		case program == "gh":
			name = guard.GitHubCLI
		case program == "git" && (asked || words[1].Text == "push"):
			name = guard.GitCredentials
		}
		there := func(file string) bool { _, err := os.Lstat(file); return err == nil }
		if name != "" && !slices.Contains(lent, name) && !slices.Contains(out, name) && slices.ContainsFunc(guard.CredentialFiles(name, j.Home), there) {
			out = append(out, name)
		}
	}
	return out
}

// isReached reports whether settings let commands reach a host.
func isReached(settings []string, host string) bool {
	name, port := host, 443
	if h, p, err := net.SplitHostPort(host); err == nil {
		name = h
		port, _ = strconv.Atoi(p) // 0 matches nothing
	}
	return slices.ContainsFunc(settings, func(text string) bool {
		h, err := address.ParseHost(text)
		return err == nil && h.Matches(name, port, 443)
	})
}

// ReachingRule returns the rule that lets commands like a call reach, from now on, the hosts
// that neither settings nor rules let it reach. It returns false if no one rule does.
func ReachingRule(rules []guard.Rule, settings []string, call guard.Call) (guard.Rule, bool) {
	wanted, _ := reaches(call)
	pattern := ""
	for _, host := range wanted {
		rule := guard.ReachRule(rules, host, false)
		if rule == nil && isReached(settings, host) || rule != nil && rule.Do == guard.Allow {
			continue
		}
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		_, below, _ := strings.Cut(host, ".")
		switch {
		case rule != nil:
			return guard.Rule{}, false // it wins
		case pattern == "" || pattern == host:
			pattern = host
		case strings.Contains(below, ".") && strings.HasSuffix(pattern, "."+below):
			pattern = "*." + below
		default:
			return guard.Rule{}, false
		}
	}
	return guard.Rule{Tool: "bash", Host: pattern, Do: guard.Allow}, pattern != ""
}
