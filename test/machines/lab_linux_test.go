package machines

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"golang.org/x/sys/unix"

	"fika/internal/store"
	"fika/internal/store/pgtest"
)

const (
	patience = 4 * time.Minute // for anything that has to happen, on a machine that does much besides
	glance   = 50 * time.Millisecond
)

var (
	built   string // the folder of what is built
	binary  string // the program under test
	servers pgtest.Shared
	// chaosBinary builds the program with the tag chaos, once.
	chaosBinary = sync.OnceValues(func() (string, error) {
		if bin := os.Getenv("FIKA_E2E_CHAOS"); bin != "" {
			return bin, nil
		}
		bin := filepath.Join(built, "fika-chaos")
		out, err := exec.Command("go", "build", "-ldflags=-s -w", "-tags", "chaos", "-o", bin, "fika/cmd/fika").CombinedOutput()
		if err != nil {
			err = fmt.Errorf("build: %w: %s", err, out)
		}
		return bin, err
	})
)

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if len(os.Args) > 1 {
		if os.Args[1] == "be-host" || os.Args[1] == "forward" {
			go func() { // the test is gone, and with it the other end
				_, _ = io.Copy(io.Discard, os.Stdin)
				os.Exit(1)
			}()
		}
		switch os.Args[1] {
		case "be-host":
			return beHost(os.Args[2], os.Args[3])
		case "forward":
			delay, _ := time.ParseDuration(os.Args[4])
			return forward(os.Args[2], os.Args[3], delay)
		}
	}
	defer servers.Stop()
	var err error
	if built, err = os.MkdirTemp("", "fika-machines"); err == nil {
		defer os.RemoveAll(built)
		err = os.Chmod(built, 0o755)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if binary = os.Getenv("FIKA_E2E_BINARY"); binary != "" {
		return m.Run()
	}
	binary = filepath.Join(built, "fika")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, "fika/cmd/fika").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// beHost is the first process of a host: it makes the namespaces it is in its own, says
// that it is ready, and reaps what is left behind.
func beHost(name, boot string) int {
	for _, step := range []func() error{
		func() error { return unix.Sethostname([]byte(name)) },
		func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") },
		func() error { return unix.Mount("proc", "/proc", "proc", 0, "") },
		func() error { return unix.Mount(boot, "/proc/sys/kernel/random/boot_id", "", unix.MS_BIND, "") },
		loopbackUp,
	} {
		if err := step(); err != nil {
			fmt.Println("no:", err)
			return 1
		}
	}
	fmt.Println("ready")
	for {
		if _, err := unix.Wait4(-1, nil, 0, nil); err == unix.ECHILD {
			unix.Nanosleep(&unix.Timespec{Nsec: 1e7}, nil)
		}
	}
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// forward is the link of a host: what comes to an address goes to a socket outside, and is
// half of delay on its way in either direction.
func forward(listen, to string, delay time.Duration) int {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		fmt.Println("no:", err)
		return 1
	}
	fmt.Println("ready")
	for {
		in, err := l.Accept()
		if err != nil {
			return 1
		}
		go splice(in, "unix", to, delay)
	}
}

// splice joins a connection with a new one to an address, until either ends.
func splice(in net.Conn, network, address string, delay time.Duration) {
	defer in.Close()
	out, err := net.Dial(network, address)
	if err != nil {
		return
	}
	defer out.Close()
	go func() {
		pass(out, in, delay/2)
		_ = out.Close()
		_ = in.Close()
	}()
	pass(in, out, delay/2)
}

// pass passes on what comes, each part after a delay.
func pass(to io.Writer, from io.Reader, delay time.Duration) {
	if delay == 0 {
		_, _ = io.Copy(to, from)
		return
	}
	type part struct {
		due  time.Time
		data []byte
	}
	parts := make(chan part, 1<<12)
	go func() {
		defer close(parts)
		for {
			buf := make([]byte, 32<<10)
			n, err := from.Read(buf)
			parts <- part{time.Now().Add(delay), buf[:n]}
			if err != nil {
				return
			}
		}
	}()
	for p := range parts {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			for range parts { // until the other end is closed, too
			}
		}
	}
}

// lab is several hosts with what they share.
type lab struct {
	*testing.T
	dir   string
	url   string // of the database
	db    *store.Store
	bus   *natsserver.Server
	hosts []*host // h1, h2, …
}

// host is a machine made of namespaces.
type host struct {
	*lab
	name    string
	home    string // its FIKA_HOME, on its disk
	bin     string // the program that it runs
	chaos   string // folder that a build for chaos obeys; empty: none
	init    *exec.Cmd
	pg      *exec.Cmd // its link to the database
	nats    *exec.Cmd // its link to the bus
	ended   bool
	outside [2]string // the sockets to which its links lead: of the database and the bus
}

// newLab makes hosts h1 to hN, each with an agent a1 to aN of its own. more is added to
// each config.
func newLab(t *testing.T, n int, more string) *lab {
	t.Helper()
	return newLabOn(t, servers.URL(t), n, func(int) string { return more })
}

// newLabOn is [newLab] with the URL of a database, and with more for each host.
func newLabOn(t *testing.T, base string, n int, more func(host int) string) *lab {
	t.Helper()
	need(t, "nsenter")
	u, err := url.Parse(base)
	check(t, err)
	l := &lab{T: t, dir: t.TempDir(), url: base}
	check(t, os.Chmod(l.dir, 0o755))
	bus := l.startNATS()
	for i := 1; i <= n; i++ {
		h := l.startHost(fmt.Sprintf("h%d", i), filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432"), bus)
		h.configure(u.Query().Get("search_path"), fmt.Sprintf("\n[[agents]]\nid = \"a%d\"\nauto_start = true\npersistent = true\n", i)+more(i))
	}
	l.db, err = store.Open(t.Context(), store.Options{URL: base})
	check(t, err)
	t.Cleanup(func() { l.db.Close() })
	return l
}

// need skips a test without a program, or fails where all have to be there.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed", program)
	}
	t.Skipf("skipped: %s is not installed", program)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// startNATS starts a server with JetStream and returns a socket that leads to it.
func (l *lab) startNATS() string {
	l.Helper()
	s, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, JetStream: true, StoreDir: filepath.Join(l.dir, "js"), NoSigs: true, NoLog: true})
	check(l.T, err)
	s.Start()
	l.bus = s
	l.Cleanup(func() { l.bus.Shutdown(); l.bus.WaitForShutdown() })
	if !s.ReadyForConnections(patience) {
		l.Fatal("NATS does not start")
	}
	socket := filepath.Join(l.dir, "nats")
	front, err := net.Listen("unix", socket)
	check(l.T, err)
	l.Cleanup(func() { front.Close() })
	address := s.Addr().String()
	go func() {
		for {
			in, err := front.Accept()
			if err != nil {
				return
			}
			go splice(in, "tcp", address, 0)
		}
	}()
	return socket
}

// startHost makes a host with its links. It skips the test where the kernel refuses.
func (l *lab) startHost(name, pg, bus string) *host {
	l.Helper()
	h := &host{lab: l, name: name, bin: binary, home: filepath.Join(l.dir, name, "home"), outside: [2]string{pg, bus}}
	check(l.T, os.MkdirAll(h.home, 0o700))
	h.boot()
	l.Cleanup(h.kill)
	l.hosts = append(l.hosts, h)
	return h
}

// boot starts the host, for the first time or after it was killed: with its disk, and with
// another boot id.
func (h *host) boot() {
	h.Helper()
	boot := filepath.Join(h.dir, h.name, "boot")
	check(h.T, os.WriteFile(boot, []byte(uuid.NewString()+"\n"), 0o644))
	self, err := os.Executable()
	check(h.T, err)
	h.init = exec.Command(self, "be-host", h.name, boot)
	h.init.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWPID}
	if os.Geteuid() != 0 {
		h.init.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		h.init.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		h.init.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		h.init.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN}
	}
	if err := h.background(h.init); err != nil {
		h.Skipf("skipped: this kernel does not let a host be made of namespaces: %v", err)
	}
	h.ended = false
	h.pg = h.link(self, "127.0.0.1:5432", h.outside[0], 0)
	h.nats = h.link(self, "127.0.0.1:4222", h.outside[1], 0)
}

func (h *host) link(self, listen, to string, delay time.Duration) *exec.Cmd {
	h.Helper()
	c := exec.Command("nsenter", append(h.enter("-n"), self, "forward", listen, to, delay.String())...)
	check(h.T, h.background(c))
	h.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c
}

// background starts a program that says that it is ready, or why not.
func (l *lab) background(c *exec.Cmd) error {
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	c.Stderr = os.Stderr
	if _, err := c.StdinPipe(); err != nil { // open as long as this process lives
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	buf := make([]byte, 200)
	n, err := out.Read(buf)
	if text := strings.TrimSpace(string(buf[:n])); text != "ready" {
		_ = c.Process.Kill()
		return fmt.Errorf("%s (%v)", text, err)
	}
	return nil
}

// enter returns the arguments of nsenter for some namespaces of the host.
func (h *host) enter(spaces ...string) []string {
	args := append([]string{"-t", strconv.Itoa(h.init.Process.Pid)}, spaces...)
	if os.Geteuid() != 0 {
		args = append(args, "-U", "--preserve-credentials")
	}
	return append(args, "--")
}

func (h *host) configure(schema, more string) {
	h.Helper()
	h.write("config.toml", `model = "scripted"
tool_permissions = ["read", "list", "create", "edit", "bash"]
[guard]
sandbox = "off"
[store]
url = "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable&search_path=`+schema+`"
[nats]
server = "nats://127.0.0.1:4222"
`+more)
	h.write("rules.toml", `fallback = "I have no rule for that."
[[rule]]
match = "tick (?P<n>[0-9]+)"
tool_calls = [{name = "bash", args = {command = "for i in $(seq {{.Group.n}}); do date +%s%N >> ticks; sleep 0.1; done"}}]
[[rule]]
match = "^once$"
tool_calls = [{name = "bash", args = {command = "echo run >> once; sleep 1000"}}]
[[rule]]
after_tool = "bash"
result = "may or may not have run"
reply = "it may have run"
[[rule]]
after_tool = "bash"
reply = "it ticked"
[[rule]]
match = "hello"
reply = "hello from `+h.name+`"
`)
}

func (h *host) write(name, text string) {
	h.Helper()
	check(h.T, os.WriteFile(filepath.Join(h.home, name), []byte(text), 0o600))
}

// add adds a text to a file of the home.
func (h *host) add(name, text string) {
	h.Helper()
	before, err := os.ReadFile(filepath.Join(h.home, name))
	check(h.T, err)
	h.write(name, string(before)+text)
}

// command returns a command of fika on the host, for a home of it.
func (h *host) command(ctx context.Context, home string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "nsenter", append(h.enter("-n", "-m", "-u", "-p"), append([]string{h.bin}, args...)...)...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(home), "FIKA_HOME=" + home, "TERM=dumb", "FIKA_CHAOS=" + h.chaos}
	c.Dir, c.WaitDelay = filepath.Dir(home), time.Second // what it has started may outlive it
	return c
}

// run runs a command of fika to its end, and returns what it prints and its exit status.
func (h *host) run(home string, args ...string) (string, int) {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), patience)
	defer cancel()
	c := h.command(ctx, home, args...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	_ = c.Run()
	return strings.TrimSpace(out.String()), c.ProcessState.ExitCode()
}

// must runs a command that has to succeed.
func (h *host) must(args ...string) string {
	h.Helper()
	out, code := h.run(h.home, args...)
	if code != 0 {
		h.Fatalf("%s: fika %s: exit %d: %s", h.name, strings.Join(args, " "), code, out)
	}
	return out
}

// begin starts a command and returns a function that waits for what it prints.
func (h *host) begin(args ...string) func() string {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), patience)
	c := h.command(ctx, h.home, args...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	check(h.T, c.Start())
	h.Cleanup(func() { cancel(); _ = c.Wait() })
	return func() string { _ = c.Wait(); return strings.TrimSpace(out.String()) }
}

// overhear starts a command and returns a function that returns what it has printed so far.
func (h *host) overhear(args ...string) func() string {
	h.Helper()
	out, err := os.CreateTemp(h.TempDir(), "said")
	check(h.T, err)
	ctx, cancel := context.WithCancel(h.Context())
	c := h.command(ctx, h.home, args...)
	c.Stdout, c.Stderr = out, out
	check(h.T, c.Start())
	h.Cleanup(func() { cancel(); _ = c.Wait(); _ = out.Close() })
	return func() string { data, _ := os.ReadFile(out.Name()); return string(data) }
}

// kill ends the host as a power failure would.
func (h *host) kill() {
	if !h.ended {
		h.ended = true
		_ = h.init.Process.Kill() // the kernel ends all others with it
		_ = h.init.Wait()
		_, _ = h.pg.Process.Kill(), h.nats.Process.Kill()
	}
}

// signalAll signals every process of the host, the first one as well. nsenter, outside, stops
// itself when the command that it has started is stopped, and goes on with it.
func (h *host) signalAll(sig syscall.Signal) {
	h.Helper()
	for _, pid := range h.processes("") {
		_ = syscall.Kill(pid, sig)
	}
	if sig != syscall.SIGCONT {
		return
	}
	entered := []byte("nsenter\x00-t\x00" + strconv.Itoa(h.init.Process.Pid) + "\x00")
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if line, _ := os.ReadFile(dir + "/cmdline"); bytes.HasPrefix(line, entered) {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			_ = syscall.Kill(pid, sig)
		}
	}
}

// processes returns the processes of the host whose command line contains a text.
func (h *host) processes(text string) (out []int) {
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid_for_children", h.init.Process.Pid))
	check(h.T, err)
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if space, err := os.Readlink(dir + "/ns/pid"); err != nil || space != own {
			continue
		}
		line, _ := os.ReadFile(dir + "/cmdline")
		if strings.Contains(strings.ReplaceAll(string(line), "\x00", " "), text) {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			out = append(out, pid)
		}
	}
	return out
}

// killOf kills the processes of the host whose command line holds a text. There has to be one.
func (h *host) killOf(text string) {
	h.Helper()
	found := h.processes(text)
	if len(found) == 0 {
		h.Fatalf("no process of %s is %q", h.name, text)
	}
	for _, pid := range found {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may end by itself meanwhile
	}
}

// cut stops a link, as if the cable were out: nothing comes through, and nobody is told.
func cut(t *testing.T, link *exec.Cmd)  { t.Helper(); check(t, link.Process.Signal(syscall.SIGSTOP)) }
func heal(t *testing.T, link *exec.Cmd) { t.Helper(); check(t, link.Process.Signal(syscall.SIGCONT)) }

// until waits for something.
func (l *lab) until(what string, done func() bool) {
	l.Helper()
	for deadline := time.Now().Add(patience); !done(); {
		if time.Now().After(deadline) {
			for _, h := range l.hosts {
				logs, _ := filepath.Glob(filepath.Join(h.home, "run", "logs", "*.log"))
				for _, path := range logs {
					data, _ := os.ReadFile(path)
					l.Logf("%s %s:\n%s", h.name, filepath.Base(path), data[max(0, len(data)-2000):])
				}
			}
			l.Fatalf("in vain waited for: %s", what)
		}
		<-time.After(glance)
	}
}

// find returns the texts that a query selects.
func (l *lab) find(query string) (out []string) {
	l.Helper()
	db, err := pgx.Connect(l.Context(), l.url)
	check(l.T, err)
	defer db.Close(l.Context())
	rows, err := db.Query(l.Context(), query)
	check(l.T, err)
	out, err = pgx.CollectRows(rows, pgx.RowTo[string])
	check(l.T, err)
	return out
}
