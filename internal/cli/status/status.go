package status

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/api"
	"fika/internal/cli/agent"
	"fika/internal/cli/budget"
	"fika/internal/cli/command"
	"fika/internal/cli/schedule"
	"fika/internal/cli/store"
	"fika/internal/service"
	"fika/internal/settings/config"
	"fika/internal/system/term"
	"fika/internal/text/words"
)

// statusJSON is what fika status --json prints.
type statusJSON struct {
	Home  string       `json:"home"`
	Hub   *hubJSON     `json:"hub"` // null: not running
	Bus   busJSON      `json:"bus"`
	Store store.JSON   `json:"store"`
	Away  *string      `json:"store_trouble"` // why the database cannot be used; then what it says is not known
	Agent []agent.JSON `json:"agents"`
	Wait  int          `json:"waiting"`
	Pause bool         `json:"paused_all"`

	Guests    []guestJSON    `json:"guests"`
	Executors []executorJSON `json:"executors"`

	Sandbox sandboxJSON   `json:"sandbox"`
	Budgets []budget.JSON `json:"budgets"`

	Schedules []schedule.JSON `json:"schedules"`

	Offers []offerJSON `json:"offers"` // that wait for hosts that are down
}

type guestJSON struct {
	Agent    string `json:"agent"`
	Programs int    `json:"programs"`
	Idle     int    `json:"idle"` // of programs: those that wait for a next turn
	Bytes    int64  `json:"memory_bytes"`
}

type offerJSON struct {
	Number fika.OfferNumber `json:"number"`
	Host   string           `json:"host"`
	Waits  string           `json:"waits"`
}

type executorJSON struct {
	Name    string  `json:"name"`
	User    *string `json:"user"` // user that tools run as; null: the one who runs it
	Host    *string `json:"host"` // where it runs; null: here
	Running bool    `json:"running"`
}

type sandboxJSON struct {
	Tier  string   `json:"tier"`
	Lacks []string `json:"lacks"`
	Why   *string  `json:"why"` // why no stronger tier works; null: there is none
}

type hubJSON struct {
	PID       int        `json:"pid"`
	Trouble   *string    `json:"trouble"` // why it does not answer
	Code      *api.Code  `json:"code"`    // of trouble
	StartedAt *time.Time `json:"started_at"`
}

type busJSON struct {
	URL      *string     `json:"url"`
	Embedded bool        `json:"embedded"`
	Up       bool        `json:"up"`
	Trip     *float64    `json:"round_trip_ms"`
	Stream   *streamJSON `json:"stream"`   // of foreign requests; null: there is none, or its state is not known
	Warnings []string    `json:"warnings"` // what programs other than fika cannot rely on, or have lost
}

type streamJSON struct {
	Name     string     `json:"name"`
	Unread   uint64     `json:"unread"`
	Bytes    uint64     `json:"bytes"`
	MaxBytes int64      `json:"max_bytes"`
	ReadAt   *time.Time `json:"last_read_at"`
}

// New returns the command fika status.
func New(e *command.Env) *cobra.Command {
	var asJSON, busOnly, all bool
	c := &cobra.Command{
		Use: "status", Short: "show the hub, the bus, the store and the agents",
		Long: `Shows the state of everything; it starts nothing and works without a hub. The
exit status is 0 if the hub is up, 3 if it is not, 1 if it runs but does not
answer. If the database cannot be used, it shows what is known without it and
ends with the status of that error: 4 if it may be back soon.

--show-bus prints the bus URL with a credential, for programs that are not fika.
With the hub's server it is the credential of a member, who may read everything,
send requests and ring; with an external server it is what [nats] says, and
stderr names the files that are needed. With --json each part is a field.

--all shows which of your homes, those of projects and your own, have a running
hub, and what it works on; the exit status is then 0.`,
		Example: "  fika status\n  fika status --all\n  nats --server \"$(fika status --show-bus)\" sub 'fika.>'", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case busOnly && all:
				return command.UsageError("--show-bus is of one home, and --all of every one")
			case busOnly:
				return showBus(e, asJSON)
			case all:
				return showAllHomes(cmd.Context(), e, asJSON)
			}
			st, away, err := readStatus(cmd.Context(), e)
			if err != nil {
				return err
			}
			if asJSON {
				err = e.PrintJSON(toStatusJSON(st, e.Now()))
			} else {
				err = showStatus(e, st)
			}
			switch {
			case err != nil:
			case away != nil:
				return away
			case st.Hub.PID == 0:
				return command.Silent{Kind: fika.NotFound}
			case !st.Trouble.IsClear():
				return command.Silent{Kind: fika.Failed}
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&all, "all", false, "show the hubs of all your homes, one per line")
	c.Flags().BoolVar(&busOnly, "show-bus", false, "print only the URL and credential for a foreign client")
	return c
}

// outagePatience is how long a database may take to answer before the state is shown
// without it.
const outagePatience = 5 * time.Second

// readStatus reads the state of everything. If the database cannot be used, away is why,
// and the state is what is known without it.
func readStatus(ctx context.Context, e *command.Env) (st service.Status, away, err error) {
	short, cancel := context.WithTimeout(ctx, outagePatience)
	defer cancel()
	c, err := e.Service(short)
	if err == nil {
		st, err = c.Status(short)
	}
	if err == nil || ctx.Err() != nil || short.Err() == nil && !fika.IsKind(err, fika.Storage) {
		return st, nil, err
	}
	if away = err; short.Err() != nil {
		away = fika.Errorf(fika.Locked, "", "the database has not answered within %s; what waits continues when it does", outagePatience)
	}
	who, err := e.Principal()
	if err != nil {
		return st, nil, err
	}
	st, err = service.StatusWithoutStore(ctx, e.App(), who, away)
	return st, away, err
}

func toStatusJSON(st service.Status, now time.Time) statusJSON {
	j := statusJSON{
		Home: st.Home, Bus: busJSON{URL: command.Optional(config.WithoutSecrets(st.BusURL)), Embedded: st.BusOwn, Up: st.BusUp, Trip: command.Optional(float64(st.BusTrip.Microseconds()) / 1000), Warnings: append([]string{}, st.Warnings...)},
		Store: store.ToJSON(st.Store, st.Bytes), Away: command.Optional(st.StoreTrouble),
		Agent: []agent.JSON{}, Wait: st.Waiting, Pause: st.Paused,
		Sandbox: sandboxJSON{Tier: st.Sandbox.Tier, Lacks: append([]string{}, st.Sandbox.Lacks...), Why: command.Optional(st.Sandbox.Why)},
		Budgets: []budget.JSON{}, Guests: []guestJSON{}, Executors: []executorJSON{}, Schedules: []schedule.JSON{}, Offers: []offerJSON{},
	}
	for _, g := range st.Guests {
		j.Guests = append(j.Guests, guestJSON{string(g.Agent), g.Count, g.Idle, g.Bytes})
	}
	for _, x := range st.Executors {
		j.Executors = append(j.Executors, executorJSON{Name: x.Name, User: command.Optional(x.User), Host: command.Optional(x.Host), Running: x.Running})
	}
	for _, o := range st.Offers {
		j.Offers = append(j.Offers, offerJSON{o.Number, o.On, o.Waits})
	}
	for _, b := range st.Budgets {
		j.Budgets = append(j.Budgets, budget.ToJSON(b))
	}
	for _, s := range st.Schedules {
		j.Schedules = append(j.Schedules, schedule.ToJSON(s))
	}
	if s := st.Stream; s != nil {
		j.Bus.Stream = &streamJSON{Name: s.Name, Unread: s.Unread, Bytes: s.Bytes, MaxBytes: s.MaxBytes, ReadAt: command.JSONTime(s.ReadAt)}
	}
	if st.Hub.PID != 0 {
		j.Hub = &hubJSON{PID: st.Hub.PID, Trouble: command.Optional(words.Say(st.Trouble, now)), Code: command.Optional(st.Trouble.Code), StartedAt: command.JSONTime(st.HubFrom)}
	}
	for _, v := range st.Agents {
		j.Agent = append(j.Agent, agent.ToJSON(now, v))
	}
	return j
}

func showStatus(e *command.Env, st service.Status) error {
	p := func(k, v string) { _ = e.Printf("%-7s %s\n", k, term.CleanLine(v)) }
	p("home", st.Home)
	if st.Hub.PID == 0 {
		p("hub", "not running (fika up)")
	} else {
		p("hub", hubLine(e, st))
		for i, l := range busLines(st) {
			p([]string{"bus", ""}[min(i, 1)], l)
		}
	}
	for _, w := range st.Warnings {
		p("WARNING", w)
	}
	if st.StoreTrouble != "" {
		p("store", config.WithoutSecrets(st.Store.Path))
		p("", "it cannot be used now, so what is at work and what waits is not known")
	} else {
		p("store", fmt.Sprintf("%s (%s, schema %d, %s)", config.WithoutSecrets(st.Store.Path), st.Store.Engine, st.Store.Schema, command.ByteCount(st.Bytes)))
	}
	if st.Store.MaxConnections > 0 {
		p("", store.ServerLine(st.Store))
	}
	tier := st.Sandbox.Tier
	if len(st.Sandbox.Lacks) > 0 {
		tier += " (known gaps: fika doctor)"
	}
	p("sandbox", tier)
	if st.Sandbox.Why != "" {
		p("", "because "+st.Sandbox.Why)
	}
	for i, x := range st.Executors {
		p([]string{"executors", ""}[min(i, 1)], executorLine(x))
	}
	for i, g := range st.Guests {
		p([]string{"guests", ""}[min(i, 1)], guestLine(g))
	}
	for _, v := range st.Agents {
		if v.NoLimits != "" {
			p("limits", fmt.Sprintf("@%s: %s", v.Row.Name, v.NoLimits))
		}
	}
	if st.Paused {
		p("paused", "all conversations (fika chat resume --all)")
	}
	if st.Waiting > 0 {
		p("waiting", fmt.Sprintf("%d", st.Waiting))
	}
	for i, b := range st.Budgets {
		p([]string{"budgets", ""}[min(i, 1)], service.BudgetLine(b))
	}
	for i, o := range st.Offers {
		p([]string{"landing", ""}[min(i, 1)], fmt.Sprintf("offer %d %s", o.Number, o.Waits))
	}
	for i, l := range scheduleLines(st.Schedules) {
		p([]string{"next", ""}[min(i, 1)], l)
	}
	if len(st.Agents) == 0 {
		return e.CheckWritten("")
	}
	_ = e.Print("\n")
	if st.StoreTrouble != "" {
		return agent.ShowProcesses(e, st.Agents)
	}
	return agent.ShowTable(e, st.Agents)
}

// scheduleLines returns which schedule comes next, and which began nothing or failed
// the last time.
func scheduleLines(list []service.Schedule) (lines []string) {
	next := -1
	for i, s := range list {
		if s.Paused.IsZero() && s.Elsewhere == "" && !s.Next.IsZero() && (next < 0 || s.Next.Before(list[next].Next)) {
			next = i
		}
	}
	if next >= 0 {
		s := list[next]
		lines = append(lines, fmt.Sprintf("%s (%s) on %s", s.Schedule.Name, s.WhatBegins(), schedule.NextLine(s)))
	}
	for _, s := range list {
		if s.Hindrance() != "" || s.State == fika.RequestFailed {
			lines = append(lines, fmt.Sprintf("%s: %s", s.Schedule.Name, schedule.LastLine(s)))
		}
	}
	return lines
}

func hubLine(e *command.Env, st service.Status) string {
	if !st.Trouble.IsClear() {
		return e.Words(st.Trouble)
	}
	return fmt.Sprintf("up (pid %d), %s", st.Hub.PID, command.UptimeSeconds(st.HubFrom))
}

// busLines returns the state of the bus, and what waits there.
func busLines(st service.Status) []string {
	kind, answers := "somebody else's server", "does not answer"
	if st.BusOwn {
		kind = "the hub's own"
	}
	if st.BusUp {
		answers = fmt.Sprintf("answers in %.1f ms", float64(st.BusTrip.Microseconds())/1000)
	}
	lines := []string{fmt.Sprintf("%s (%s, %s)", config.WithoutSecrets(st.BusURL), kind, answers)}
	if s := st.Stream; s != nil {
		lines = append(lines, fmt.Sprintf("%d requests of foreign programs unread (%s of %s used)", s.Unread, command.ByteCount(int64(s.Bytes)), command.ByteCount(s.MaxBytes)))
	}
	if !st.BusOwn {
		lines = append(lines, "what a foreign program publishes is as safe as that server's own settings make it")
	}
	return lines
}

// showBus prints a URL, or several with commas between, that a NATS client can use as
// it is. It also names the files that the client needs, which a URL cannot contain.
func showBus(e *command.Env, asJSON bool) error {
	access, err := service.ReadBusAccess(e.App())
	if err != nil {
		return err
	}
	if asJSON {
		return e.PrintJSON(access)
	}
	list := strings.Split(access.URL, ",")
	for i, server := range list {
		list[i] = withLogin(strings.TrimSpace(server), access)
	}
	for _, need := range []struct{ what, option, path string }{
		{"an nkey", "--nkey", access.NKey}, {"a credentials file", "--creds", access.Creds}, {"an authority for TLS", "--tlsca", access.TLSCA},
		{"a certificate", "--tlscert", access.TLSCert}, {"its key", "--tlskey", access.TLSKey},
	} {
		if need.path != "" {
			e.Warn(fmt.Sprintf("a client of this server needs %s: %s (nats %s)", need.what, need.path, need.option))
		}
	}
	return e.Println(strings.Join(list, ","))
}

// withLogin puts user and password, or token, into the URL of a server, unless the URL
// has a login already.
func withLogin(server string, access service.BusAccess) string {
	if access.User == "" && access.Token == "" {
		return server
	}
	if !strings.Contains(server, "://") {
		server = "nats://" + server
	}
	u, err := url.Parse(server)
	if err != nil || u.User != nil {
		return server
	}
	if u.User = url.User(access.Token); access.User != "" {
		u.User = url.UserPassword(access.User, access.Password)
	}
	return u.String()
}

// guestLine returns the state of the programs of a guest.
func guestLine(g service.GuestPrograms) string {
	line := fmt.Sprintf("@%s: %s of memory for its program", g.Agent, command.ByteCount(g.Bytes))
	if g.Count > 1 {
		line = fmt.Sprintf("@%s: %s of memory for its %d programs", g.Agent, command.ByteCount(g.Bytes), g.Count)
	}
	switch {
	case g.Idle == 0:
	case g.Count == 1:
		line += ", which stays for its next turn"
	default:
		line += fmt.Sprintf("; for a next turn alone: %d", g.Idle)
	}
	return line
}

// executorLine returns the state of an executor.
func executorLine(x service.ExecutorStatus) string {
	line, there := x.Name+": not running (start it", ""
	if x.Host != "" {
		line, there = x.Name+" of "+x.Host+": not running (start it there", " of "+x.Host
	}
	line += ": fika up, or fika executor " + x.Name + ")"
	if x.Running {
		line = x.Name + there + ": running"
	}
	if x.User != "" {
		line += " (tools as " + x.User + ")"
	}
	return line
}
