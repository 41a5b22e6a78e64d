package config

import (
	"errors"

	"fika"
	"fika/internal/guard"
)

// confinementKeys are how processes are confined: those of all agents in
// [guard], of one in its own settings.
func confinementKeys[T any](in func(*T) *Confinement, inherits string) []key[T] {
	return inheritFrom([]key[T]{
		{name: "sandbox", at: func(t *T) any { return &in(t).SandboxMode }, oneOf: []string{"best", "required", "off"},
			doc: "How commands, plugins and hooks are confined: best is the strongest way that works here (bubblewrap, else what the kernel has built in), required is bubblewrap or nothing is run, off gives them all rights of yours."},
		{name: "network", at: func(t *T) any { return &in(t).Network }, oneOf: []string{"off", "on"},
			doc: "Whether they reach the network."},
		{name: "rights", at: func(t *T) any { return &in(t).Rights }, oneOf: []string{guard.RightsOwn, guard.RightsLeast},
			doc: "What an agent may do when another one has caused its work: own is what it may do itself, least not more than whoever caused it, along the whole chain. What you ask for yourself has no such bound."},
		{name: "tainted", at: func(t *T) any { return &in(t).Taint }, oneOf: []string{guard.TaintTighten, guard.TaintOffline, guard.TaintAllow},
			doc: "What follows when a turn has read text from outside (pages, commands with the network, other programs): tighten keeps it from writing what later turns obey, asks before hosts that nobody named, and has rights = \"least\"; offline also takes the network away; allow only notes it."},
	}, inherits)
}

func guardKeys() []key[Guard] {
	return append(confinementKeys(func(g *Guard) *Confinement { return &g.Confinement }, ""),
		key[Guard]{name: "default", at: func(g *Guard) any { return &g.Default }, oneOf: ruleActions(),
			doc: "What becomes of a tool call that no rule is about. A rule can only spare you questions; what keeps a command in is the sandbox."},
		key[Guard]{name: "approval_timeout", at: func(g *Guard) any { return &g.ApprovalTimeout }, min: 1,
			doc: "A call that you were asked about and gave no answer to is denied after this time."})
}

func ruleActions() []string {
	return []string{string(guard.Allow), string(guard.Ask), string(guard.Deny)}
}

// ruleKeys are those of one [[rules]] entry.
func ruleKeys() []key[guard.Rule] {
	return []key[guard.Rule]{
		{name: "tool", at: func(r *guard.Rule) any { return &r.Tool }, example: `"bash"`, doc: "The tool that it is about; a * stands for any letters. Required."},
		{name: "match", at: func(r *guard.Rule) any { return &r.Match }, example: `"git push *"`, doc: "For bash: the words of a command; a final * stands for any further words. Every command in a pipe, a list, a substitution or behind a wrapper such as env or xargs is looked at."},
		{name: "path", at: func(r *guard.Rule) any { return &r.Path }, example: `"docs/**"`, doc: "A file that the call names, or that a command is redirected to: * within a name, ** across folders, ~ your home; relative to the workspace. Where a rule for bash asks, a yes lets that one call change the file although it is protected, as with \".git/config\", which commands of git are known to write; beside match it names the file that a yes opens for these commands."},
		{name: "host", at: func(r *guard.Rule) any { return &r.Host }, example: `"*.example.org"`, doc: "For fetch: the host that is asked."},
		{name: "tainted", at: func(r *guard.Rule) any { return &r.Tainted }, doc: "Only in a turn that has read text from outside."},
		{name: "do", at: func(r *guard.Rule) any { return (*string)(&r.Do) }, oneOf: ruleActions(), example: `"ask"`, doc: "A deny wins; between ask and allow the rule that says more letters, and a tie asks. Required."},
		{name: "why", at: func(r *guard.Rule) any { return &r.Why }, example: `"only people push"`, doc: "Shown to you and to the model with the decision."},
	}
}

// readRules reads [[rules]].
func (r *reader) readRules(v value, path string, list *[]guard.Rule) bool {
	items, ok := r.listElements(v, path)
	for _, item := range items {
		rule := guard.Rule{Where: lineOf(r.Place(item.At))}
		decodeTable(r, item.Table, elementPath(path, len(*list))+".", &rule, ruleKeys(), nil)
		if item.Table.Get("do") == nil {
			r.Problem(item.At, "this rule does nothing: say do = \"allow\", \"ask\" or \"deny\"")
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
	return reasonOf(err)
}

// allRules are the rules of a context: its own, its agent's, and those of the
// home.
func (in Inputs) allRules() []guard.Rule {
	var out []guard.Rule
	for _, l := range in.settingLayers() {
		out = append(out, l.from.Rules...)
	}
	return out
}

func sandboxKeys() []key[Sandbox] {
	return []key[Sandbox]{
		{name: "write", at: func(s *Sandbox) any { return &s.Write }, example: `["~/.cache/bazel"]`,
			doc: "Folders that confined commands can write besides the workspace."},
		{name: "hide", at: func(s *Sandbox) any { return &s.Hide }, example: `["~/letters"]`,
			doc: "Files and folders that they do not see, besides the homes of fika and the places where keys and passwords usually are."},
		lendKey(func(s *Sandbox) *[]string { return &s.Lend }),
		{name: "sockets", at: func(s *Sandbox) any { return &s.Sockets }, example: `["/run/postgresql/.s.PGSQL.5432"]`,
			doc: "Unix sockets that they can reach. Whoever listens there acts with rights of its own: fika doctor calls it a way out."},
	}
}

func lendKey[T any](in func(*T) *[]string) key[T] {
	return key[T]{name: "lend", at: func(t *T) any { return in(t) }, example: `["ssh-agent", "~/.npmrc"]`,
		doc: "Of what they do not see, what they can read after all; ssh-agent is its socket."}
}
