package api

import (
	"slices"
	"strings"
	"sync"
)

// Verb is one thing that may be asked for. Each is declared once, in [Verbs]; the
// authority of the command line, its documentation and the tests are made from that.
type Verb struct {
	Name    string // "conversation.send": the kind of its object, and what is done
	Conduct Conduct
	Repeat  Repeat
	Host    bool // acts on files or processes of this machine
	Lists   bool // takes and returns a cursor; what may not be seen is left out, not refused
	Whole   bool // shows everything as it passes, without a filter: only persons may look
}

// Repeat says what makes a repeated write the same write.
type Repeat string

// How verbs repeat.
const (
	NoWrite Repeat = ""       // it looks
	ByKey   Repeat = "key"    // a row for [Write].Key in the same transaction
	ByWish  Repeat = "wish"   // the row holds what is wanted: wanting it twice is wanting it
	Intent  Repeat = "intent" // a keyed row, the effect, the row is done: a repeat finishes or reports
)

// Object returns the kind of object that the verb is about.
func (v Verb) Object() ObjectKind {
	kind, _, _ := strings.Cut(v.Name, ".")
	return ObjectKind(kind)
}

// Find returns the verb of a name, and false if there is none.
func Find(name string) (Verb, bool) {
	v, ok := verbsByName()[name]
	return v, ok
}

// verbsByName is built once: each command of the command line and each check of a right
// looks something up.
var verbsByName = sync.OnceValue(func() map[string]Verb {
	list := Verbs()
	byName := make(map[string]Verb, len(list))
	for _, v := range list {
		byName[v.Name] = v
	}
	return byName
})

// Verbs returns every verb, by object.
func Verbs() []Verb {
	var (
		look  = Verb{Conduct: Looks}
		list  = Verb{Conduct: Looks, Lists: true}
		local = Verb{Conduct: Looks, Host: true} // looks at files or processes
		speak = Verb{Conduct: Speaks, Repeat: ByKey}
		key   = Verb{Conduct: Manages, Repeat: ByKey}
		wish  = Verb{Conduct: Manages, Repeat: ByWish}
		act   = Verb{Conduct: Manages, Repeat: Intent}
		file  = Verb{Conduct: Manages, Repeat: Intent, Host: true}
		here  = Verb{Conduct: Manages, Repeat: ByWish, Host: true} // starts or ends processes, or finds its file as it would write it
	)
	return slices.Concat(
		on(Home, look, "status usage spending profile top route"),
		on(Home, list, "search events metrics"),
		on(Home, wish, "pause resume"),

		on(Conversation, list, "list"),
		on(Conversation, look, "show entries tree queue why chains limits participants live wait export"),
		on(Conversation, speak, "send"),
		on(Conversation, Verb{Conduct: Answers, Repeat: ByKey}, "steer accept rewind"),
		on(Conversation, Verb{Conduct: Answers, Repeat: ByWish}, "withdraw mode"),
		on(Conversation, key, "create enter invite session stop continue clear delete rename pin unpin retry cleanup"),
		on(Conversation, act, "compact"),
		on(Conversation, wish, "pause resume hold renew release limit"),

		on(AgentObject, list, "list"),
		on(AgentObject, look, "show health prompt entries recall attach"),
		on(AgentObject, local, "logs diff"),
		on(AgentObject, speak, "ask task message"),
		on(AgentObject, Verb{Conduct: Speaks, Repeat: Intent}, "create-context"),
		on(AgentObject, Verb{Conduct: Speaks, Repeat: Intent, Host: true}, "run"),
		on(AgentObject, wish, "start stop restart switch model summarise move"),
		on(AgentObject, key, "reset unbind"),
		on(AgentObject, act, "compact clear continue"),
		on(AgentObject, file, "create delete rename import learn merge discard unlock"),
		on(AgentObject, here, "export shell username"),

		on(RequestObject, list, "list"),
		on(RequestObject, look, "show family entries steps rounds trace wait changes"),
		on(RequestObject, wish, "cancel"),
		on(RequestObject, key, "retry"),
		on(RequestObject, file, "undo"),

		on(RunObject, list, "list"),
		on(RunObject, look, "show steps output definition file-changes wait"),
		on(RunObject, key, "start team resume"),
		on(RunObject, wish, "pause continue cancel"),

		on(BoardObject, list, "list"),
		on(BoardObject, look, "show why"),
		on(BoardObject, speak, "add report"),
		on(BoardObject, key, "edit assign release close reopen"),

		on(OfferObject, list, "list"),
		on(OfferObject, look, "show"),
		on(OfferObject, Verb{Conduct: Manages, Repeat: ByKey, Host: true}, "add"),   // also commits what its agent has not
		on(OfferObject, Verb{Conduct: Speaks, Repeat: ByKey, Host: true}, "submit"), // an agent's own work, which it also commits
		on(OfferObject, key, "cancel retry"),
		on(OfferObject, here, "apply"),

		on(ApprovalObject, list, "list"),
		on(ApprovalObject, look, "show"),
		on(ApprovalObject, Verb{Conduct: Answers, Repeat: ByKey}, "answer"),
		on(ApprovalObject, Verb{Conduct: Answers, Repeat: Intent, Host: true}, "answer-always"), // also writes a rule

		on(JobObject, list, "list"),
		on(JobObject, look, "show"),
		on(JobObject, local, "logs"),
		on(JobObject, wish, "end"),

		on(ScheduleObject, list, "list"), on(ScheduleObject, look, "show"),
		on(ScheduleObject, act, "set delete"),
		on(ScheduleObject, key, "run pause resume"),
		on(BudgetObject, list, "list"), on(BudgetObject, look, "show"),
		on(BudgetObject, act, "set delete"),

		on(WebhookObject, list, "list"), on(WebhookObject, wish, "retry"), on(TokenObject, list, "list"),
		on(TokenObject, Verb{Conduct: Answers, Repeat: ByKey}, "create revoke"),

		on(FileObject, local, "list show check test"),
		on(FileObject, file, "init trust migrate key bus-member plugin mcp skill project update"),
		on(FileObject, here, "call"), // a plugin or an MCP server: it runs with a person's rights

		on(Host, list, "list"), on(Host, look, "show"), on(Host, wish, "label drain resume forget start stop"), on(Host, local, "help version doctor store bus"),
		on(Host, Verb{Conduct: Looks, Host: true, Whole: true}, "monitor"),
		on(Host, Verb{Conduct: Speaks, Repeat: ByWish, Host: true}, "serve"), // is a door for another program
		on(Host, here, "up down agent executor console bus-secret web monitor-log backup restore move shrink import repair demo update uninstall"),
	)
}

// on returns the verbs of an object that do what like does. Spaces separate the names.
func on(object ObjectKind, like Verb, names string) []Verb {
	var out []Verb
	for name := range strings.FieldsSeq(names) {
		v := like
		v.Name = string(object) + "." + name
		out = append(out, v)
	}
	return out
}
