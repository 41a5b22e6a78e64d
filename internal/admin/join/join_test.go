package join_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fika"
	"fika/internal/admin/join"
	"fika/internal/app"
	contract "fika/internal/bus"
	"fika/internal/settings/config"
	"fika/internal/store"
	"fika/internal/store/pgtest"
)

var servers pgtest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	servers.Stop()
	os.Exit(code)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// home makes a home with settings, and the program in it at some distance from the time.
func home(t *testing.T, settings string, ahead time.Duration) *app.App {
	t.Helper()
	root := t.TempDir()
	check(t, os.WriteFile(filepath.Join(root, "config.toml"), []byte("model = \"scripted\"\n"+settings), 0o600))
	a := app.New(app.Options{Root: root, Getenv: func(name string) string { return map[string]string{"RIGHT": "word", "WRONG": "no"}[name] }, Now: func() time.Time { return time.Now().Add(ahead) }})
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// startNATS starts a server and returns its address.
func startNATS(t *testing.T, o natsserver.Options) string {
	t.Helper()
	o.Host, o.Port, o.StoreDir, o.NoSigs, o.NoLog = "127.0.0.1", natsserver.RANDOM_PORT, t.TempDir(), true, true
	s, err := natsserver.NewServer(&o)
	check(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("NATS does not start")
	}
	return "nats://" + s.Addr().String()
}

// expired makes a certificate for this machine that was valid until yesterday, and the file
// of its authority.
func expired(t *testing.T) (*tls.Config, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().AddDate(0, 0, -30), NotAfter: time.Now().AddDate(0, 0, -1),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	check(t, err)
	file := filepath.Join(t.TempDir(), "ca.pem")
	check(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, file
}

// front listens on this machine, and hands each connection to a function.
func front(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); serve(c) }()
		}
	}()
	return l.Addr().String()
}

// slowly passes on what comes from one connection to another, some time later.
func slowly(to io.Writer, from io.Reader, late time.Duration) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		<-time.After(late)
		if _, wrong := to.Write(buf[:n]); err != nil || wrong != nil {
			return
		}
	}
}

// TestWhatIsMissing: each thing that can be wrong with the servers of others is named, all
// at once, and then nothing is written.
func TestWhatIsMissing(t *testing.T) {
	server := servers.Server(t)
	ctx := t.Context()
	in := func(schema, user, database string) string {
		return fmt.Sprintf("postgres://%s@/%s?%s", user, database, url.Values{"host": {server.Dir}, "search_path": {schema}}.Encode())
	}
	fill := func(schema string) string {
		s, err := store.Open(ctx, store.Options{URL: in(schema, "postgres", "postgres")})
		check(t, err)
		_, _, err = s.EnterHost(ctx, store.Site{Home: "other of " + schema, Copy: "disk"}, "box", "v1", store.HostBus{Prefix: "team", Server: "nats://127.0.0.1:1"}, time.Minute, time.Time{})
		check(t, err)
		check(t, s.Close())
		return in(schema, "postgres", "postgres")
	}
	good, newer := fill("used"), fill("newer")
	for _, text := range []string{
		`UPDATE newer.meta SET value = '999' WHERE key = 'schema'`, `CREATE ROLE reader LOGIN`, `GRANT USAGE ON SCHEMA used TO reader`, `GRANT SELECT ON ALL TABLES IN SCHEMA used TO reader`,
		`CREATE ROLE frozen LOGIN SUPERUSER`, `ALTER ROLE frozen SET default_transaction_read_only = on`,
		`CREATE DATABASE icy`, `ALTER DATABASE icy SET default_transaction_read_only = on`, `CREATE SCHEMA bare`, `CREATE SCHEMA theirs`, `CREATE TABLE theirs.things (n int)`,
	} {
		check(t, server.Exec(ctx, text))
	}
	stale, authority := expired(t)
	bus := startNATS(t, natsserver.Options{JetStream: true})
	plain := startNATS(t, natsserver.Options{})
	closed := startNATS(t, natsserver.Options{JetStream: true, Username: "fika", Password: "word"})
	secure := strings.Replace(startNATS(t, natsserver.Options{JetStream: true, TLS: true, TLSConfig: stale}), "nats:", "tls:", 1)
	taken := startNATS(t, natsserver.Options{JetStream: true})
	takeStream(t, taken)
	serveAnother(t, taken)
	socket := filepath.Join(server.Dir, ".s.PGSQL.5432")
	far := front(t, func(c net.Conn) {
		to, err := net.Dial("unix", socket)
		if err != nil {
			return
		}
		defer to.Close()
		go slowly(c, to, store.FarAway)
		slowly(to, c, store.FarAway)
	})
	answers := func(letter string, then func(net.Conn)) string {
		return front(t, func(c net.Conn) {
			if _, err := io.ReadFull(c, make([]byte, 8)); err == nil {
				_, _ = io.WriteString(c, letter)
				then(c)
			}
		})
	}
	old := answers("S", func(c net.Conn) { _ = tls.Server(c, stale).Handshake() })
	open := answers("N", func(net.Conn) {})
	strict := "/postgres?sslmode=verify-full&sslrootcert=" + url.QueryEscape(authority)
	for name, c := range map[string]struct {
		with  join.Wanted
		ahead time.Duration
		wants []string // of what is missing
		notes string
	}{
		"nothing":                {with: join.Wanted{Store: good, Server: bus}},
		"an unknown role":        {with: join.Wanted{Store: in("used", "ghost", "postgres"), Server: bus}, wants: []string{`role "ghost" does not exist`}},
		"an unknown database":    {with: join.Wanted{Store: in("used", "postgres", "nowhere"), Server: bus}, wants: []string{"CREATE DATABASE nowhere"}},
		"a role that reads":      {with: join.Wanted{Store: in("used", "reader", "postgres"), Server: bus}, wants: []string{"the role reader may not read and write"}},
		"a frozen role":          {with: join.Wanted{Store: in("used", "frozen", "postgres"), Server: bus}, wants: []string{"the role frozen writes nothing"}},
		"a frozen database":      {with: join.Wanted{Store: in("used", "postgres", "icy"), Server: bus}, wants: []string{"ALTER DATABASE icy RESET default_transaction_read_only"}},
		"no room for tables":     {with: join.Wanted{Store: in("bare", "reader", "postgres"), Server: bus}, wants: []string{"may not make tables in the schema bare"}},
		"no schema":              {with: join.Wanted{Store: in("none", "reader", "postgres"), Server: bus}, wants: []string{"there is no schema none"}},
		"tables of others":       {with: join.Wanted{Store: in("theirs", "postgres", "postgres"), Server: bus}, wants: []string{"they are not fika's"}},
		"a newer schema":         {with: join.Wanted{Store: newer, Server: bus}, wants: []string{"the tables have schema 999"}},
		"no TLS to elsewhere":    {with: join.Wanted{Store: "postgres://fika@db.example.org/fika?sslmode=disable", Server: bus}, wants: []string{"sslmode must be verify-full"}},
		"a server without TLS":   {with: join.Wanted{Store: "postgres://postgres@" + open + strict, Server: bus}, wants: []string{"refused TLS"}},
		"an old certificate":     {with: join.Wanted{Store: "postgres://postgres@" + old + strict, Server: bus}, wants: []string{"is not valid now", "expired"}},
		"no database address":    {with: join.Wanted{Store: "http://example.org", Server: bus}, wants: []string{"not that of a PostgreSQL database"}},
		"far away":               {with: join.Wanted{Store: "postgres://postgres@" + far + "/postgres?sslmode=disable&search_path=used", Server: bus}, wants: []string{"run an executor here"}},
		"another clock":          {with: join.Wanted{Store: good, Server: bus}, ahead: 2 * time.Hour, notes: "2h0m0s ahead of"},
		"a clock behind":         {with: join.Wanted{Store: good, Server: bus}, ahead: -2 * time.Hour, notes: "2h0m0s behind"},
		"nobody on the bus":      {with: join.Wanted{Store: good}, wants: []string{"nobody answers"}}, // it is where box says
		"no JetStream":           {with: join.Wanted{Store: good, Server: plain}, wants: []string{"has no JetStream"}},
		"a wrong password":       {with: join.Wanted{Store: good, Server: closed, User: "fika", PasswordEnv: "WRONG"}, wants: []string{"Authorization Violation"}},
		"the right password":     {with: join.Wanted{Store: good, Server: closed, User: "fika", PasswordEnv: "RIGHT"}},
		"an old certificate, 2":  {with: join.Wanted{Store: good, Server: secure, CA: authority}, wants: []string{"expired"}},
		"a stream of others":     {with: join.Wanted{Store: good, Server: taken}, wants: []string{"a stream named TEAM_REQUESTS is there"}},
		"hubs of another":        {with: join.Wanted{Store: in("fresh", "postgres", "postgres"), Server: taken, Prefix: "lone"}, wants: []string{"hubs of another database use the subject_prefix lone"}},
		"another prefix":         {with: join.Wanted{Store: good, Server: bus, Prefix: "mine"}, wants: []string{"the host box has the subject_prefix team, and this one would have mine"}},
		"a bad prefix":           {with: join.Wanted{Store: good, Server: bus, Prefix: "a b"}, wants: []string{"prefix"}},
		"nobody at the database": {with: join.Wanted{Store: "postgres://fika@127.0.0.1:1/fika", Server: bus}, wants: []string{"fika cannot be reached: 127.0.0.1"}},
		"no bus":                 {with: join.Wanted{Store: in("fresh", "postgres", "postgres")}, wants: []string{"no NATS server is named"}},
		"two things":             {with: join.Wanted{Store: in("used", "reader", "postgres"), Server: plain}, wants: []string{"the role reader may not read and write", "has no JetStream"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := home(t, "", c.ahead)
			r, err := join.Join(ctx, a, c.with)
			check(t, err)
			said := strings.Join(r.Lacks, "\n")
			for _, want := range c.wants {
				if !strings.Contains(said, want) {
					t.Errorf("of %q, %q is said", want, said)
				}
			}
			if notes := strings.Join(r.Notes, "\n"); c.notes == "" != (notes == "") || !strings.Contains(notes, c.notes) {
				t.Errorf("notes: %q", notes)
			}
			if (len(r.Lacks) > 0) != (len(c.wants) > 0) {
				t.Errorf("missing: %q", said)
			}
			root, err := a.Root()
			check(t, err)
			now, err := config.LoadHome(root)
			check(t, err)
			if joined := now.Store.URL != ""; joined != (len(c.wants) == 0) {
				t.Errorf("with %q missing, its store is %q", said, now.Store.URL)
			} else if joined && (now.NATS.Server != c.with.Server || now.NATS.SubjectPrefix != "team" || now.NATS.PasswordEnv != c.with.PasswordEnv) {
				t.Errorf("its bus is %+v", now.NATS)
			}
		})
	}
}

// takeStream makes a stream of the name that fika's would have, for something else.
func takeStream(t *testing.T, address string) {
	t.Helper()
	nc, err := nats.Connect(address)
	check(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	check(t, err)
	_, err = js.CreateStream(context.Background(), jetstream.StreamConfig{Name: "TEAM_REQUESTS", Subjects: []string{"orders.>"}})
	check(t, err)
}

// serveAnother answers on a bus as hubs of another database do.
func serveAnother(t *testing.T, address string) {
	t.Helper()
	nc, err := nats.Connect(address)
	check(t, err)
	t.Cleanup(nc.Close)
	_, err = nc.Subscribe(contract.Subjects{Prefix: "lone"}.HubStore(), func(m *nats.Msg) { _ = m.Respond([]byte("another")) })
	check(t, err)
	check(t, nc.Flush())
}

// TestInvitation: what a home that has joined says is what another needs to join it.
func TestInvitation(t *testing.T) {
	a := home(t, "[store]\nurl = \"postgres://fika:word@db.example.org/fika\"\n[nats]\nserver = \"tls://bus.example.org:4222\"\nuser = \"fika\"\npassword_env = \"NATS_PASSWORD\"\nsubject_prefix = \"team\"\n[nats.tls]\nca = \"/etc/ca.pem\"\n", 0)
	c, err := a.Config()
	check(t, err)
	w, needs, err := join.Invitation(c, "")
	check(t, err)
	if strings.Contains(w.Store, "word") || w.Server != "tls://bus.example.org:4222" || w.User != "fika" || w.PasswordEnv != "NATS_PASSWORD" || w.CA != "/etc/ca.pem" || w.Prefix != "team" {
		t.Errorf("it invites with %+v", w)
	}
	if said := strings.Join(needs, "\n"); !strings.Contains(said, "/etc/ca.pem") || !strings.Contains(said, "NATS_PASSWORD") || !strings.Contains(said, "PGPASSWORD") {
		t.Errorf("it needs %q", said)
	}
	near, err := home(t, "[store]\nurl = \"postgres://fika@127.0.0.1/fika\"\n[nats]\nserver = \"nats://localhost:4222\"\n", 0).Config()
	check(t, err)
	if _, needs, err := join.Invitation(near, ""); err != nil || strings.Count(strings.Join(needs, "\n"), "is this machine") != 2 {
		t.Errorf("to servers on this machine it needs %q, %v", needs, err)
	}
	for _, settings := range []string{"", "[store]\nurl = \"postgres://fika@db.example.org/fika\"\n"} {
		c, err := home(t, settings, 0).Config()
		check(t, err)
		if _, _, err := join.Invitation(c, ""); err == nil {
			t.Errorf("with %q it invites", settings)
		}
	}
}

// TestRoleOfAHost: a home whose role owns the tables makes a role for another host, which can
// then join with what is printed; one that may not make roles says what an administrator has
// to run, and after that has happened it goes on; a host can make none for others.
func TestRoleOfAHost(t *testing.T) {
	server := servers.Server(t)
	bus := startNATS(t, natsserver.Options{JetStream: true})
	check(t, server.Exec(t.Context(), `CREATE ROLE plain LOGIN; GRANT CREATE ON DATABASE postgres TO plain`))
	in := func(role string) *config.Config {
		u := fmt.Sprintf("postgres://%s@/postgres?%s", role, url.Values{"host": {server.Dir}, "search_path": {"roles"}}.Encode())
		c, err := home(t, fmt.Sprintf("[store]\nurl = %q\n[nats]\nserver = %q\n", u, bus), 0).Config()
		check(t, err)
		return c
	}
	owner := in("plain")
	s, err := store.Open(t.Context(), store.Options{URL: owner.Store.URL})
	check(t, err)
	check(t, s.Close())
	first, err := join.AddHost(t.Context(), owner, "My-Laptop.local")
	check(t, err)
	if first.Name != "fika_my_laptop_local" || len(first.Admin) != 3 {
		t.Fatalf("a role that may make none: %+v", first)
	}
	check(t, server.Exec(t.Context(), strings.Join(first.Admin, ";")))
	second, err := join.AddHost(t.Context(), owner, "My-Laptop.local")
	if err != nil || len(second.Admin) != 0 || second.Password != "" {
		t.Fatalf("once it is there: %+v, %v", second, err)
	}
	check(t, server.Exec(t.Context(), `ALTER ROLE `+second.Name+` NOLOGIN`)) // as forgetting the host does
	third, err := join.AddHost(t.Context(), owner, "My-Laptop.local")
	if err != nil || len(third.Admin) != 1 || third.Password == "" || third.Password == first.Password {
		t.Fatalf("once it was locked out: %+v, %v", third, err)
	}
	check(t, server.Exec(t.Context(), third.Admin[0]))
	w, _, err := join.Invitation(owner, second.Name)
	check(t, err)
	r, err := join.Join(t.Context(), home(t, "", 0), w)
	if err != nil || len(r.Lacks) > 0 {
		t.Errorf("with its role it does not join: %v, %v", r.Lacks, err)
	}
	if _, err := join.AddHost(t.Context(), in(second.Name), "another"); !fika.IsKind(err, fika.Denied) {
		t.Errorf("a host makes a role: %v", err)
	}
	if _, err := join.AddHost(t.Context(), owner, strings.Repeat("x", 70)); !fika.IsKind(err, fika.Invalid) {
		t.Errorf("a name that is too long: %v", err)
	}
}
