package service

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/store"
	"fika/internal/text/hint"
)

// Hosts is the interface to the hosts that share the database: the homes in which a hub
// runs. A database that is a file has no others.
type Hosts struct{ c *Service }

// Hosts returns the interface to the hosts.
func (c *Service) Hosts() *Hosts { return &Hosts{c} }

// Host is a host with what is known of it.
type Host struct {
	store.Host
	Here   bool // it is the home of this process
	Up     bool // its hub runs, as far as the database knows
	Agents []fika.AgentName
	Duties []string // what it does for all
	// Demand says how the host is started, and what is done about that; nil: a person starts it.
	Demand *Demand
}

// Demand is what is known of a host that starts on demand.
type Demand struct {
	store.OnDemand
	By    string // the name of the host that starts it
	Ready bool   // the hub of that one runs
}

// StateWord says how the host is, as lists show it: up or down, or what is done about one that
// starts on demand.
func (h Host) StateWord() string {
	switch d := h.Demand; {
	case h.Up && d != nil && (d.State == store.OnDemandDraining || d.State == store.OnDemandStopping):
		return "stopping"
	case h.Up:
		return "up"
	case d == nil || !d.Ready: // nobody starts it
		return "down"
	case d.State == store.OnDemandRests:
		return "asleep"
	case d.State == store.OnDemandFailed:
		return "start failed"
	default:
		return string(d.State)
	}
}

// demands returns what is known of the hosts that start on demand, by their names.
func (c *Service) demands(ctx context.Context, hosts []store.Host, now time.Time) (map[string]*Demand, error) {
	list, err := c.store.ListOnDemand(ctx)
	out := map[string]*Demand{}
	for _, d := range list {
		by := &Demand{OnDemand: d, By: d.Home}
		for _, h := range hosts {
			if h.ID == d.Home {
				by.By, by.Ready = h.Name, h.Alive(now)
			}
		}
		out[d.Name] = by
	}
	return out, err
}

// Shared reports whether the database can have other hosts.
func (h *Hosts) Shared() bool { return h.c.config().Store.URL != "" }

// List returns the hosts by name, if the caller sees everything, and none otherwise.
func (h *Hosts) List(ctx context.Context) ([]Host, error) {
	v := h.c.sight()
	return atMost(v, 0, func(int, int, Host) ([]Host, error) { return h.all(ctx) }, func(Host) (bool, error) { return false, nil })
}

func (h *Hosts) all(ctx context.Context) ([]Host, error) {
	list, now, err := h.c.store.ListHosts(ctx)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	rows, err := h.c.store.ListAgents(ctx)
	if err != nil {
		return nil, err
	}
	duties, err := h.c.store.ListDuties(ctx)
	if err != nil {
		return nil, err
	}
	own, err := h.c.home.ID()
	if err != nil {
		return nil, err
	}
	demands, err := h.c.demands(ctx, list, now)
	if err != nil {
		return nil, err
	}
	out := make([]Host, len(list))
	for i, one := range list {
		out[i] = Host{Host: one, Here: one.ID == own, Up: one.Alive(now), Demand: demands[one.Name]}
		delete(demands, one.Name)
		for _, row := range rows {
			if row.HomeID == one.ID {
				out[i].Agents = append(out[i].Agents, row.Name)
			}
		}
		for duty, host := range duties {
			if host == one.Name {
				out[i].Duties = append(out[i].Duties, duty)
			}
		}
	}
	for name, d := range demands { // that have never been up
		out = append(out, Host{Host: store.Host{Name: name, State: store.HostActive}, Demand: d})
	}
	slices.SortFunc(out, func(a, b Host) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Where is on which host each agent is; nil if there are not several hosts.
type Where map[fika.AgentName]string

// Where returns on which host each agent is, if there are several hosts.
func (h *Hosts) Where(ctx context.Context) (Where, error) {
	hosts, err := h.c.hosts(ctx)
	if err != nil || len(hosts) < 2 {
		return nil, err
	}
	rows, err := h.c.store.ListAgents(ctx)
	out := Where{}
	for _, row := range rows {
		out[row.Name] = hosts.of(row).Name
	}
	return out, err
}

// Show returns the host of a name. Error kinds: Denied, NotFound.
func (h *Hosts) Show(ctx context.Context, name string) (Host, error) {
	if err := h.c.may("host.show"); err != nil {
		return Host{}, err
	}
	return h.find(ctx, name)
}

// find returns the host of a name. It fails with NotFound.
func (h *Hosts) find(ctx context.Context, name string) (Host, error) {
	list, err := h.all(ctx)
	if err != nil {
		return Host{}, err
	}
	for _, one := range list {
		if one.Name == name {
			return one, nil
		}
	}
	return Host{}, fika.WithHint(fika.Errorf(fika.NotFound, "", "host %q not found", name), hint.HostList.With())
}

// isLabel reports whether a text can be a label.
func isLabel(text string) bool {
	for i, r := range text {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && (i == 0 || !strings.ContainsRune("._-", r)) {
			return false
		}
	}
	return text != "" && len(text) <= 32
}

// Label adds and removes labels of a host. Error kinds: Denied, Invalid, NotFound.
func (h *Hosts) Label(ctx context.Context, name string, add, remove []string) error {
	if err := h.c.may("host.label"); err != nil {
		return err
	}
	for _, l := range add {
		if !isLabel(l) {
			return fika.Errorf(fika.Invalid, "", "%.40q is not a label: use 1 to 32 of a-z 0-9 . _ - and begin with a letter or a digit", l)
		}
	}
	return h.c.store.LabelHost(ctx, name, add, remove)
}

// Drain has a host begin no work: its agents end after their current steps, and what they
// had begun waits until the host is resumed. Error kinds: Denied, NotFound.
func (h *Hosts) Drain(ctx context.Context, name string) error {
	if err := h.c.may("host.drain"); err != nil {
		return err
	}
	return h.c.store.SetHostState(ctx, name, store.HostDrained)
}

// Resume ends [Hosts.Drain].
func (h *Hosts) Resume(ctx context.Context, name string) error {
	if err := h.c.may("host.resume"); err != nil {
		return err
	}
	return h.c.store.SetHostState(ctx, name, store.HostActive)
}

// Start has a host started that starts on demand, although there may be no work for it. Error
// kinds: Denied, NotFound; Conflict if it is up, or the host that would start it is not.
func (h *Hosts) Start(ctx context.Context, name string) error {
	if err := h.c.may("host.start"); err != nil {
		return err
	}
	return h.want(ctx, name, store.WantStart, func(one Host) error {
		if one.Up && one.Demand.Begins(h.c.now()) {
			return fika.Errorf(fika.Conflict, "", "%s is up", name)
		}
		return nil
	})
}

// Stop has a host stopped that starts on demand: its agents end after their current steps. It
// stays so, whatever waits for it, until it is started by a person. Error kinds: Denied,
// NotFound; Conflict if nothing stops it, or the host that would is not up.
func (h *Hosts) Stop(ctx context.Context, name string) error {
	if err := h.c.may("host.stop"); err != nil {
		return err
	}
	return h.want(ctx, name, store.WantStop, func(one Host) error {
		if !one.Demand.Stops && one.Up {
			return fika.Errorf(fika.Conflict, "", "[hosts.%s] on %s has no stop, so nothing stops it", name, one.Demand.By)
		}
		return nil
	})
}

func (h *Hosts) want(ctx context.Context, name string, wish store.OnDemandWish, may func(Host) error) error {
	one, err := h.find(ctx, name)
	switch {
	case err != nil:
		return err
	case one.Demand == nil:
		return fika.Errorf(fika.NotFound, "", "no host has a [hosts.%s] that says how %s is started", name, name)
	case !one.Demand.Ready:
		return fika.WithHint(fika.Errorf(fika.Conflict, "", "%s is started and stopped by %s, which is down", name, one.Demand.By), hint.HostList.With())
	}
	if err := may(one); err != nil {
		return err
	}
	return h.c.store.WantOnDemand(ctx, name, wish)
}

// Forget removes a host that is down for good; each of its agents belongs to the host that
// next defines it. Error kinds: Denied, NotFound, Locked while it may be at work.
func (h *Hosts) Forget(ctx context.Context, name string, stolen bool) error {
	if err := h.c.may("host.forget"); err != nil {
		return err
	}
	return h.c.store.ForgetHost(ctx, name, stolen)
}

// hostOf returns the host that an agent is on, if that is another home's; nil if it is this
// one's.
func (c *Service) hostOf(ctx context.Context, row fika.Agent) (*Host, error) {
	own, err := c.home.ID()
	if err != nil || row.HomeID == "" || row.HomeID == own || !c.Hosts().Shared() {
		return nil, err
	}
	hosts, err := c.hosts(ctx)
	return hosts.of(row), err
}

// hostsKnown are the hosts by their homes.
type hostsKnown map[string]*Host

// hosts returns all hosts; none for a database that is a file.
func (c *Service) hosts(ctx context.Context) (hostsKnown, error) {
	if !c.Hosts().Shared() {
		return nil, nil
	}
	list, now, err := c.store.ListHosts(ctx)
	if err != nil {
		return nil, err
	}
	demands, err := c.demands(ctx, list, now)
	out := hostsKnown{}
	for _, one := range list {
		out[one.ID] = &Host{Host: one, Up: one.Alive(now), Demand: demands[one.Name]}
	}
	return out, err
}

// of returns the host of an agent. A home whose hub never ran, or whose host was forgotten, is
// one without a name.
func (h hostsKnown) of(row fika.Agent) *Host {
	if known := h[row.HomeID]; known != nil {
		return known
	}
	return &Host{Host: store.Host{ID: row.HomeID}}
}

// isAway returns why an agent on another host does not work because of that host; clear
// if the host is up.
func (c *Service) isAway(ctx context.Context, h *Host, row fika.Agent) api.Status {
	agent := row.Name
	switch {
	case h.Name == "":
		return api.Stands(api.AgentNowhere, "agent", string(agent))
	case !h.Up && h.Demand != nil && h.Demand.Ready:
		return h.Demand.stands(agent)
	case !h.Up:
		why := c.filesHeld(ctx, row)
		if h.Demand != nil {
			why = "the host " + h.Demand.By + ", which starts it, is down"
		}
		return api.Stands(api.AgentHostDown, "agent", string(agent), "host", h.Name, "at", timeText(h.Seen), "why", why)
	case h.State == store.HostDrained:
		return api.Stands(api.AgentHostDrained, "agent", string(agent), "host", h.Name)
	}
	return api.Status{}
}

// stands says why an agent does not work on a host that is down and starts on demand.
func (d *Demand) stands(agent fika.AgentName) api.Status {
	switch d.State {
	case store.OnDemandStarting:
		return api.Stands(api.AgentHostStarting, "agent", string(agent), "host", d.Name, "at", timeText(d.Since))
	case store.OnDemandFailed:
		return api.Stands(api.AgentHostFailed, "agent", string(agent), "host", d.Name, "reason", d.Reason).At(d.Until)
	case store.OnDemandStopped:
		return api.Stands(api.AgentHostStopped, "agent", string(agent), "host", d.Name)
	}
	return api.Stands(api.AgentHostAsleep, "agent", string(agent), "host", d.Name)
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// filesHeld says why no other host goes on with the files of an agent, although its settings
// allow that; "" if they do not, or nothing is known to be in the way.
func (c *Service) filesHeld(ctx context.Context, row fika.Agent) string {
	list, err := c.store.WorkspacesOf(ctx, row.ID)
	if err != nil {
		return "" // what is asked next from the database fails, too, and says why
	}
	why := ""
	for _, w := range list {
		if w.Unpushed != "" {
			return "its last work is there alone: " + w.Unpushed
		}
		why = cmp.Or(why, w.Refused)
	}
	return why
}

// misplaced says that an agent may not run on the host that it is on, by what that says of
// it; clear if it may.
func (c *Service) misplaced(ctx context.Context, hosts hostsKnown, row fika.Agent) api.Status {
	at := hosts[row.HomeID]
	if at == nil {
		return api.Status{}
	}
	words := c.hostWords(ctx, row)
	if at.Fits(words) {
		return api.Status{}
	}
	where := ""
	for _, h := range hosts {
		if !h.Up && h.Demand != nil && h.Demand.Ready && h.Awaits(row, words) {
			return h.Demand.stands(row.Name)
		}
		if h.Fits(words) {
			where = at.Name
		}
	}
	return api.Stands(api.AgentNoHost, "agent", string(row.Name), "hosts", strings.Join(words, ", "), "host", where)
}

// misplacedNow is misplaced by the present hosts.
func (c *Service) misplacedNow(ctx context.Context, row fika.Agent) api.Status {
	if !c.Hosts().Shared() || len(c.hostWords(ctx, row)) == 0 {
		return api.Status{}
	}
	hosts, err := c.hosts(ctx)
	if err != nil {
		return api.Status{}
	}
	return c.misplaced(ctx, hosts, row)
}

// hostWords returns where an agent may run, as its host says it; nil: anywhere.
func (c *Service) hostWords(ctx context.Context, row fika.Agent) []string {
	if own, err := c.home.ID(); err != nil || row.HomeID == own {
		if e := c.config().Agent(row.Name); e != nil {
			return e.RunOn
		}
		return nil
	}
	d, _, err := c.store.Defined(ctx, row.Name)
	if err != nil {
		return nil
	}
	return d.RunOn
}

// judgeAway sets the status of an agent on another host from its row: its process has a
// lease as long as it gives signs of life. away is why it does not work there, if it has
// none.
func (v *AgentView) judgeAway(away api.Status, now time.Time) {
	row := v.Row
	v.Away = true
	held := row.Owner != "" && row.LeaseUntil.After(now)
	if held {
		pid, _, _ := strings.Cut(row.Owner, "@")
		v.PID, _ = strconv.Atoi(pid)
		v.Since, v.Processed = row.StartedAt, row.Processed
	}
	v.Status = fika.AgentStopped
	switch {
	case held && row.Desired.Stopped():
		v.Status = AgentStopping
	case held && len(v.Running) > 0:
		v.Status = fika.AgentBusy
	case held && row.State != fika.AgentStopped:
		v.Status = row.State
	case held:
		v.Status = fika.AgentStarting
	case row.State == fika.AgentFailed:
		v.Status, v.Why = fika.AgentFailed, v.says(api.AgentFailed, "reason", row.StateReason)
	case row.Desired.Stopped() || row.ID == "":
	case !away.IsClear():
		v.Why = away
	case row.State == fika.AgentStarting || row.State == fika.AgentUnhealthy:
		v.Status = row.State
		if row.StateReason != "" {
			v.Why = v.says(api.AgentReports, "reason", row.StateReason)
		}
	}
}
