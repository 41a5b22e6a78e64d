package config

import (
	"errors"

	"fika"
	"fika/internal/rights/guard"
)

// confinementKeys are the keys for how processes are confined: for all agents in
// [guard], for one agent in its own settings.
func confinementKeys[T any](in func(*T) *Confinement, inherits string) []key[T] {
	return inheritFrom([]key[T]{
		{name: "sandbox", at: func(t *T) any { return &in(t).SandboxMode }, oneOf: []string{"best", "required", "off"},
			doc: "How commands, plugins and hooks are confined: best is the strongest way that works here (bubblewrap, or else what is built into the kernel), required runs nothing without bubblewrap, off gives them all your rights."},
		{name: "network", at: func(t *T) any { return &in(t).Network }, oneOf: []string{"off", "on"},
			doc: "Whether commands, plugins and hooks reach the network."},
		{name: "rights", at: func(t *T) any { return &in(t).Rights }, oneOf: []string{guard.RightsOwn, guard.RightsLeast},
			doc: "What an agent may do when another agent has caused its work: own is what the agent itself may do; least is no more than any agent that caused the work, along the whole chain, may do. Work that you ask for yourself has no such limit."},
		{name: "tainted", at: func(t *T) any { return &in(t).Taint }, oneOf: []string{guard.TaintTighten, guard.TaintOffline, guard.TaintAllow},
			doc: "What happens when a turn has read text from outside (pages, commands with the network, other programs): tighten keeps the turn from writing what later turns obey, asks before hosts that nobody named, and applies rights = \"least\"; offline also takes the network away; allow only records it."},
	}, inherits)
}

func guardKeys() []key[Guard] {
	return append(confinementKeys(func(g *Guard) *Confinement { return &g.Confinement }, ""),
		key[Guard]{name: "default", at: func(g *Guard) any { return &g.Default }, oneOf: ruleActions(),
			doc: "What happens to a tool call that no rule matches. A rule can only save you questions; it is the sandbox that confines commands."},
		key[Guard]{name: "approval_timeout", at: func(g *Guard) any { return &g.ApprovalTimeout }, min: 1,
			doc: "After this time, a call that you were asked about but did not answer is denied."})
}

func ruleActions() []string {
	return []string{string(guard.Allow), string(guard.Ask), string(guard.Deny)}
}

// ruleKeys are the keys of a [[rules]] entry.
func ruleKeys() []key[guard.Rule] {
	return []key[guard.Rule]{
		{name: "tool", at: func(r *guard.Rule) any { return &r.Tool }, example: `"bash"`, doc: "The tool that the rule is about; * stands for any characters. Required."},
		{name: "match", at: func(r *guard.Rule) any { return &r.Match }, example: `"git push *"`, doc: "For bash: the words of a command; a final * stands for any further words. The rule checks every command in a pipe, a list or a substitution, or behind a wrapper such as env or xargs. A script or code whose content cannot be known counts for rules that ask or deny, unless a rule allows the script by name, as in \"sh ./deploy.sh *\". It does not speak of a file that a redirection writes (> FILE): where calls ask that no rule allows, such a file does, too, unless a rule with path allows it; see docs/concepts/security.md."},
		{name: "path", at: func(r *guard.Rule) any { return &r.Path }, example: `"docs/**"`, doc: "A file that the call names, or to which a command is redirected: * within a name, ** across folders, ~ your home; relative to the workspace. If a rule for bash asks, a yes lets that one call change the file even if it is protected, such as \".git/config\", which git commands are known to write; together with match, path names the file that a yes opens to these commands."},
		{name: "host", at: func(r *guard.Rule) any { return &r.Host }, example: `"*.example.org"`, doc: "For fetch: the host of the request. For bash: a host that commands without the network need: allow lets them reach it, ask and deny hold also for those in hosts of [sandbox]."},
		{name: "tainted", at: func(r *guard.Rule) any { return &r.Tainted }, doc: "The rule applies only in a turn that has read text from outside."},
		{name: "do", at: func(r *guard.Rule) any { return (*string)(&r.Do) }, oneOf: ruleActions(), example: `"ask"`, doc: "What happens to the call. A deny wins; between ask and allow, the rule with more literal characters wins, and a tie asks. Required."},
		{name: "why", at: func(r *guard.Rule) any { return &r.Why }, example: `"only people push"`, doc: "The reason, shown to you and to the model with the decision."},
	}
}

// readRules reads [[rules]].
func (r *reader) readRules(v value, path string, list *[]guard.Rule) bool {
	items, ok := r.listElements(v, path)
	for _, item := range items {
		rule := guard.Rule{Where: lineOf(r.Place(item.At))}
		decodeTable(r, item.Table, elementPath(path, len(*list))+".", &rule, ruleKeys(), nil)
		if item.Table.Get("do") == nil {
			r.Problem(item.At, "this rule does nothing: set do = \"allow\", \"ask\" or \"deny\"")
		} else if err := rule.Check(); err != nil && (rule.Do != "" || rule.Tool == "") {
			r.Problem(item.At, "%s", ruleWrong(err))
		}
		*list = append(*list, rule)
	}
	return ok
}

// ruleWrong says which key of a rule is wrong, and how.
func ruleWrong(err error) string {
	var e *fika.Error
	if errors.As(err, &e) && e.Op != "" {
		return e.Op + ": " + e.Msg
	}
	return fika.ReasonOf(err)
}

// allRules returns the rules of a context: its own, its agent's, and those of the home.
func (in Inputs) allRules() []guard.Rule {
	var out []guard.Rule
	for _, l := range in.settingLayers() {
		out = append(out, l.from.Rules...)
	}
	return out
}

func sandboxKeys() []key[Sandbox] {
	return []key[Sandbox]{
		{name: "home", at: func(s *Sandbox) any { return &s.Home }, oneOf: []string{HomeHidden, HomeReadable},
			doc: "What confined commands see of your home folder: hidden: only the workspace, caches, programs, what git is configured with, and what is lent; readable: everything but the places where keys and passwords usually are, which no list of places covers completely, so that fika doctor calls it a gap."},
		{name: "write", at: func(s *Sandbox) any { return &s.Write }, example: `["~/.cache/bazel"]`,
			doc: "Folders to which confined commands can write besides the workspace."},
		{name: "hide", at: func(s *Sandbox) any { return &s.Hide }, example: `["~/letters"]`,
			doc: "Files and folders that confined commands do not see, besides the homes of fika, your home folder, and, as root, what only root can read in /etc, /var and /boot."},
		lendKey(func(s *Sandbox) *[]string { return &s.Lend }),
		{name: "sockets", at: func(s *Sandbox) any { return &s.Sockets }, example: `["/run/postgresql/.s.PGSQL.5432"]`,
			doc: "Unix sockets that confined commands can reach. The program that listens there acts with its own rights: fika doctor calls it a way out."},
		hostsKey(func(s *Sandbox) *[]string { return &s.Hosts }),
	}
}

func hostsKey[T any](in func(*T) *[]string) key[T] {
	return key[T]{name: "hosts", at: func(t *T) any { return in(t) }, check: checkHosts, example: `["proxy.golang.org", "*.npmjs.org"]`,
		doc: "Hosts that commands reach although they have no network: over https, and over http with :80. NAME, NAME:PORT, *.NAME for all below it, NAME=ADDRESS:PORT, NAME=private for a name that leads into your own network. It takes the full sandbox, and programs that use a proxy. What is sent to such a host is not looked at."}
}

func lendKey[T any](in func(*T) *[]string) key[T] {
	return key[T]{name: "lend", at: func(t *T) any { return in(t) }, example: `["ssh-agent", "~/.npmrc"]`,
		doc: "Hidden files and folders that confined commands can read after all; ssh-agent stands for its socket, git-credentials for what git's helper store keeps (~/.git-credentials), gh for the login of gh (~/.config/gh)."}
}
