package guard

import (
	"slices"
	"strings"
	"sync"
)

// wrapper is how a program that runs another takes its own words.
type wrapper struct {
	grammar
	before int // operands before the command
	// Options, in lists separated by spaces:
	code  string // the value is code for a shell
	alter string // changes the folder or the variables
	risk  string // anything may run
	none  string // no command is run
	stand string // the value stands for words that are not known yet
	unset string // the value is a variable that is removed
	// Without a command it runs a shell.
	shell bool
	// The command runs with other rights or in other surroundings: a rule that allows
	// has to name the wrapper.
	outer bool
	// NAME=value words come before the command.
	assigns bool
	// Further words that are not known are appended to the command.
	more bool
	// The operands are joined to code for a shell.
	joined bool
}

// running is what a command runs in turn.
type running struct {
	commands []SimpleCommand
	at       int      // index of the first word of commands[0] in the words of the command
	code     []string // for a shell
	// outer means that rules that allow look at the command itself and not at what it
	// runs.
	outer bool
	// fully means that rules apply to both.
	fully bool
	// altered and unsure are true for all that it runs.
	altered, unsure bool
}

// findWrapper returns how a command is called that runs another, and how many of its
// words are the wrapper's name.
func (c SimpleCommand) findWrapper() (w wrapper, own int, ok bool) {
	name := c.name()
	if isLoader(name) {
		name = "ld.so"
	}
	for own = 1; own <= min(3, len(c.Words)); own++ {
		if own > 1 {
			name += " " + c.Words[own-1].Text
		}
		if w, ok := wrappers()[name]; ok && c.Words[own-1].Known {
			return w, own, true
		}
	}
	return wrapper{}, 0, false
}

// isLoader reports whether a program is the dynamic loader, which runs others.
func isLoader(name string) bool {
	return name == "ld.so" || (strings.HasPrefix(name, "ld-") || strings.HasPrefix(name, "ld64")) && strings.Contains(name, ".so")
}

// wrappers returns the programs that run others, as their manuals say. The first ones run
// a command as it would run on its own, but later, slower, or for a limited time.
var wrappers = sync.OnceValue(func() map[string]wrapper {
	setarch := grammar{short: "vRFZLXBIST3p:hV", long: "verbose addr-no-randomize fdpic-funcptrs mmap-page-zero addr-compat-layout read-implies-exec 32bit short-inode whole-seconds sticky-timeouts 3gb 4gb uname-2.6 pid= show=? list help version"}
	return map[string]wrapper{
		"env": {assigns: true, risk: "S split-string", alter: "i C ignore-environment chdir", unset: "u unset",
			grammar: grammar{short: "iu:C:S:v0a:", long: "ignore-environment null unset= chdir= split-string= block-signal=? default-signal=? ignore-signal=? list-signal-handling debug argv0= help version"}},
		"command":          {none: "v V", grammar: grammar{short: "pvV"}},
		"builtin":          {},
		"exec":             {grammar: grammar{short: "cla:"}, alter: "c"},
		"nohup":            {grammar: grammar{long: "help version"}},
		"setsid":           {grammar: grammar{short: "cfwhV", long: "ctty fork wait help version"}},
		"time":             {grammar: grammar{short: "apvqhVf:o:", long: "append format= output= portability quiet verbose help version"}},
		"stdbuf":           {grammar: grammar{short: "i:o:e:", long: "input= output= error= help version"}},
		"timeout":          {before: 1, grammar: grammar{short: "k:s:fpv", long: "kill-after= signal= foreground preserve-status verbose help version"}},
		"nice":             {grammar: grammar{short: "n:0123456789", long: "adjustment= help version"}},
		"ionice":           {none: "p P u", grammar: grammar{short: "c:n:p:P:u:thV", long: "class= classdata= pid= pgid= uid= ignore help version"}},
		"chrt":             {before: 1, none: "p m", grammar: grammar{short: "abdefiormpvRhVT:P:D:", long: "all-tasks batch deadline ext fifo idle other rr max pid verbose reset-on-fork sched-runtime= sched-period= sched-deadline= help version"}},
		"taskset":          {before: 1, none: "p", grammar: grammar{short: "acphV", long: "all-tasks cpu-list pid help version"}},
		"choom":            {none: "p", grammar: grammar{short: "n:p:hV", long: "adjust= pid= help version"}},
		"prlimit":          {none: "p pid", grammar: grammar{short: "c::d::e::f::i::l::m::n::q::r::s::t::u::v::x::y::p:o:hV", long: "core=? data=? nice=? fsize=? sigpending=? memlock=? rss=? nofile=? msgqueue=? rtprio=? stack=? cpu=? nproc=? as=? locks=? rttime=? pid= output= noheadings raw verbose help version"}},
		"numactl":          {none: "H hardware s show", grammar: grammar{short: "i:N:C:m:lp:P:w:absHhV", long: "interleave= weighted-interleave= cpunodebind= physcpubind= membind= localalloc preferred= preferred-many= all balancing hardware show help version"}},
		"cpulimit":         {none: "p e", grammar: grammar{short: "l:p:e:c:izvbfmhq"}},
		"eatmydata":        {},
		"unbuffer":         {grammar: grammar{short: "p"}},
		"catchsegv":        {},
		"dumb-init":        {grammar: grammar{short: "cvr:", long: "single-child verbose rewrite="}},
		"tini":             {grammar: grammar{short: "sgvwhp:e:", long: "version"}},
		"systemd-inhibit":  {none: "list", grammar: grammar{long: "what= who= why= mode= list no-pager no-legend help version"}},
		"systemd-cat":      {grammar: grammar{short: "t:p:h", long: "identifier= priority= stderr-priority= level-prefix= namespace= help version"}},
		"dbus-run-session": {risk: "config-file dbus-daemon", grammar: grammar{long: "config-file= dbus-daemon= help version"}},
		"xargs": {more: true, stand: "I i J replace", grammar: grammar{short: "0oprtxa:d:e::E:i::I:J:l::L:n:P:s:R:S:",
			long: "null open-tty interactive no-run-if-empty verbose exit arg-file= delimiter= eof=? replace=? max-lines=? max-args= max-procs= max-chars= process-slot-var= show-limits help version"}},
		"flock": {before: 1, shell: false, grammar: grammar{short: "sexnuoFE:w:hVc:", long: "shared exclusive nonblock unlock close no-fork conflict-exit-code= wait= timeout= verbose command= help version"}},

		// These run it with other rights or in other surroundings.
		"sudo": {outer: true, assigns: true, risk: "e edit R chroot", alter: "D chdir", none: "l list v validate k K reset-timestamp remove-timestamp h help V version", shell: true,
			grammar: grammar{short: "ABbEeHiKklNnPSsVvhC:D:g:p:R:r:T:t:U:u:", long: "askpass background bell close-from= chdir= preserve-env=? edit group= set-home host= login remove-timestamp reset-timestamp list non-interactive preserve-groups prompt= chroot= role= stdin shell type= command-timeout= other-user= user= version validate no-update help"}},
		"doas":        {outer: true, shell: true, risk: "C", grammar: grammar{short: "LnsC:a:u:"}},
		"run0":        {outer: true, shell: true, grammar: grammar{short: "u:g:D:hV", long: "user= group= nice= chdir= setenv= background= no-ask-password unit= property= description= slice= slice-inherit machine= pipe pty help version"}},
		"pkexec":      {outer: true, shell: true, grammar: grammar{short: "u:", long: "user= disable-internal-agent keep-cwd help version"}},
		"gosu":        {outer: true, before: 1},
		"su-exec":     {outer: true, before: 1},
		"setuidgid":   {outer: true, before: 1},
		"chpst":       {outer: true, risk: "/", grammar: grammar{short: "vPu:U:b:e:/:C:n:l:L:m:d:o:p:f:c:t:r:012"}},
		"su":          {outer: true, shell: true, code: "c command session-command", risk: "s shell", grammar: grammar{anywhere: true, short: "c:fg:G:lmpPs:Tw:hV", long: "command= session-command= fast group= supp-group= login preserve-environment pty no-pty shell= whitelist-environment= help version"}},
		"runuser":     {outer: true, shell: true, code: "c command session-command", risk: "s shell", grammar: grammar{anywhere: true, short: "c:fg:G:lmpPs:Tw:u:hV", long: "command= session-command= fast group= supp-group= login preserve-environment pty no-pty shell= whitelist-environment= user= help version"}},
		"script":      {outer: true, shell: true, code: "c command", grammar: grammar{anywhere: true, short: "aefqhVc:E:I:O:B:T:m:o:t::", long: "append command= echo= return flush force log-in= log-out= log-io= log-timing= logging-format= output-limit= quiet timing=? help version"}},
		"watch":       {outer: true, joined: true, grammar: grammar{short: "bcdefghprtvwxn:q:s:", long: "beep color no-color differences=? errexit chgexit equexit= follow interval= no-linewrap no-rerun precise exec no-title no-wrap shotsdir= help version"}},
		"setpriv":     {outer: true, none: "d dump list-caps", risk: "landlock-rule", grammar: grammar{short: "dhV", long: "dump nnp no-new-privs ambient-caps= inh-caps= bounding-set= ruid= euid= rgid= egid= reuid= regid= clear-groups keep-groups init-groups groups= list-caps securebits= pdeathsig= selinux-label= apparmor-profile= landlock-access= landlock-rule= seccomp-filter= ptracer= reset-env help version"}},
		"setarch":     {outer: true, shell: true, grammar: setarch},
		"linux32":     {outer: true, shell: true, grammar: setarch},
		"linux64":     {outer: true, shell: true, grammar: setarch},
		"i386":        {outer: true, shell: true, grammar: setarch},
		"x86_64":      {outer: true, shell: true, grammar: setarch},
		"uname26":     {outer: true, shell: true, grammar: setarch},
		"unshare":     {outer: true, shell: true, risk: "R root", grammar: grammar{short: "m::u::i::n::p::U::C::T::frchVR:w:S:G:l:", long: "mount=? uts=? ipc=? net=? pid=? user=? cgroup=? time=? fork mount-proc=? mount-binfmt=? kill-child=? map-user= map-group= map-root-user map-current-user map-auto map-users= map-groups= propagation= setgroups= keep-caps root= wd= setuid= setgid= monotonic= boottime= load-interp= owner= help version"}},
		"nsenter":     {outer: true, shell: true, risk: "r root", grammar: grammar{short: "at:m::u::i::n::p::U::C::T::S:G:r::w::W:eFZchVN:", long: "all target= mount=? uts=? ipc=? net=? net-socket= pid=? user=? user-parent cgroup=? time=? setuid=? setgid=? root=? wd=? wdns= env no-fork join-cgroup follow-context preserve-credentials keep-caps help version"}},
		"chroot":      {outer: true, before: 1, shell: true, risk: "-", grammar: grammar{long: "groups= userspec= skip-chdir help version"}},
		"systemd-run": {outer: true, shell: true, risk: "E p H M setenv property host machine", grammar: grammar{short: "dGtPqrShVE:p:u:H:M:", long: "user system scope unit= property= description= slice= slice-inherit expand-environment= no-block remain-after-exit wait send-sighup service-type= uid= gid= nice= working-directory= same-dir setenv= pty pty-late pipe quiet ignore-failure background= job-mode= on-active= on-boot= on-startup= on-unit-active= on-unit-inactive= on-calendar= on-clock-change on-timezone-change path-property= socket-property= timer-property= collect shell host= machine= no-ask-password help version"}},
		"aa-exec":     {outer: true, shell: true, grammar: grammar{short: "p:n:div", long: "profile= namespace= debug immediate verbose help"}},
		"cgexec":      {outer: true, grammar: grammar{short: "g:bs", long: "sticky"}},
		"strace":      {outer: true, none: "p attach", risk: "o output I interruptible", grammar: grammar{short: "e:o:O:p:P:s:S:u:E:a:b:I:X:U:fFcCdDhiknqrtTvVwxyYzZ", long: "attach= output= follow-forks trace= help version"}},
		"ltrace":      {outer: true, none: "p", grammar: grammar{short: "a:A:D:e:F:l:n:o:p:s:u:w:x:bcCfhiLrStTV"}},
		"valgrind":    {outer: true, grammar: grammar{short: "vqhd", long: "tool= leak-check= error-exitcode= log-file= xml= show-leak-kinds= track-origins= suppressions= verbose quiet help version"}},
		"fakeroot":    {outer: true, shell: true, risk: "l lib faked", grammar: grammar{short: "l:s:i:ub:hv", long: "lib= faked= unknown-is-real fd-base= help version"}},
		"faketime":    {outer: true, before: 1, grammar: grammar{short: "mf", long: "help version"}},
		"xvfb-run":    {outer: true, grammar: grammar{short: "adhln:e:f:p:s:w:", long: "auto-servernum auto-display error-file= auth-file= server-num= listen-tcp xauth-protocol= server-args= wait= help"}},
		"rlwrap":      {outer: true},
		"npx":         {outer: true, code: "c call", risk: "node-options script-shell", grammar: grammar{short: "yqc:p:w:", long: "yes no quiet call= package= workspace= workspaces no-install help version"}},
		"bunx":        {outer: true, grammar: grammar{long: "bun silent verbose"}},
		"uvx":         {outer: true, grammar: grammar{short: "qvp:", long: "from= with= python= quiet verbose offline"}},
		"npm exec":    {outer: true, code: "c call", grammar: grammar{short: "yc:w:", long: "yes no call= package= workspace="}},
		"npm x":       {outer: true, code: "c call", grammar: grammar{short: "yc:w:", long: "yes no call= package= workspace="}},
		"pnpm exec":   {outer: true},
		"pnpm dlx":    {outer: true, grammar: grammar{long: "package="}},
		"yarn exec":   {outer: true},
		"yarn dlx":    {outer: true, grammar: grammar{short: "qp:"}},
		"uv run":      {outer: true, grammar: grammar{short: "qvp:", long: "with= extra= group= all-extras frozen locked no-sync isolated python= package= quiet verbose offline dev no-dev"}},
		"poetry run":  {outer: true},
		"pipenv run":  {outer: true},
		"pdm run":     {outer: true},
		"rye run":     {outer: true},
		"hatch run":   {outer: true},
		"bundle exec": {outer: true},
		"direnv exec": {outer: true, before: 1},
		"asdf exec":   {outer: true},
		"ld.so": {outer: true, risk: "preload library-path audit glibc-hwcaps-prepend", none: "list verify help version list-tunables list-diagnostics",
			grammar: grammar{long: "list verify inhibit-cache library-path= glibc-hwcaps-prepend= glibc-hwcaps-mask= inhibit-rpath= audit= preload= argv0= list-tunables list-diagnostics help version"}},
		"ip netns exec": {outer: true, before: 1},
	}
})

// opaque lists programs that run what they are told in ways of their own.
const opaque = "parallel sem at batch crontab expect vi vim view vimdiff nvim ex ed emacs gdb lldb screen tmux capsh runcon sg newgrp firejail bwrap proot " +
	"systemd-nspawn machinectl daemon daemonize start-stop-daemon entr nix-shell mise asdf dc m4"

// unwrap returns what a wrapper runs.
func (w wrapper) unwrap(c *SimpleCommand, own int) running {
	if c.name() == "setarch" && len(c.Words) > 1 && !strings.HasPrefix(c.Words[1].Text, "-") {
		own++ // the architecture
	}
	p := w.parse(c.Words[own:])
	if _, ok := p.given("u user"); ok && c.name() == "runuser" { // unlike su, it runs words
		w.anywhere = false
		p = w.parse(c.Words[own:])
	}
	if _, ok := p.given(w.none); ok && !p.unsure {
		return running{}
	}
	_, risky := p.given(w.risk)
	_, altered := p.given(w.alter)
	r := running{outer: w.outer, unsure: p.unsure || risky, altered: altered}
	variable := func(name string, value Word) {
		effect := effectOf(name, value)
		r.unsure, r.altered = r.unsure || effect == redirects, r.altered || effect != harmless
	}
	for _, o := range p.options {
		if has(w.unset, o.name) {
			variable(o.value.Text, Word{})
		}
	}
	rest, at := p.operands, own+p.at
	skip := func(n int) {
		n = min(n, len(rest))
		rest, at = rest[n:], at+n
	}
	for w.assigns && len(rest) > 0 && (rest[0].Text == "-" || strings.Contains(rest[0].Text, "=")) {
		name, value, _ := strings.Cut(rest[0].Text, "=")
		variable(name, Word{value, rest[0].Known})
		skip(1)
	}
	skip(w.before)
	if w.joined {
		var text []string
		for _, word := range rest {
			text = append(text, word.Text)
			r.unsure = r.unsure || !word.Known
		}
		r.code = []string{strings.Join(text, " ")}
		return r
	}
	if o, ok := p.given(w.code); ok {
		r.code, r.unsure = []string{o.value.Text}, r.unsure || !o.value.Known
		return r
	}
	if own == 1 && c.name() == "flock" && len(rest) > 1 && has("-c --command", rest[0].Text) {
		r.code, r.unsure = []string{rest[1].Text}, r.unsure || !rest[1].Known
		return r
	}
	if len(rest) == 0 && w.shell || w.anywhere { // a shell, or words for one
		c.Unsure = true
		return running{}
	}
	if len(rest) == 0 {
		c.Unsure = c.Unsure || r.unsure
		return running{}
	}
	if o, ok := p.given(w.stand); ok {
		rest = standIn(rest, o.value.Text)
	}
	if w.more {
		rest = append(slices.Clone(rest), Word{})
	}
	r.commands, r.at = []SimpleCommand{{Words: rest}}, at
	return r
}

// standIn returns words in which those that contain a placeholder are not known; an
// empty placeholder is {}.
func standIn(words []Word, placeholder string) []Word {
	if placeholder == "" {
		placeholder = "{}"
	}
	out := slices.Clone(words)
	for i, w := range out {
		out[i].Known = w.Known && !strings.Contains(w.Text, placeholder)
	}
	return out
}
