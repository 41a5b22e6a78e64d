package daemon

import (
	"context"
	"net/http"
	"os"
	"runtime/debug"

	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/door/mcp"
	"fika/internal/door/web"
	"fika/internal/hub"
	"fika/internal/rights/login"
	"fika/internal/service"
	"fika/internal/settings/folder"
	"fika/internal/text/words"
)

// pageKeeper starts and ends the listener of the page as settings and fika web want it.
// Its methods are for one goroutine, that of the hub, but watched.
type pageKeeper struct {
	app     *app.App
	dir     login.Dir
	service *service.Service
	server  *web.Server // nil: none listens
	listen  string      // what the server was started with; empty: none listens
	failed  string      // why it could not be started; empty: it could
}

func newPageKeeper(a *app.App, h folder.Home) *pageKeeper {
	return &pageKeeper{app: a, dir: login.In(h.RunDir(), a.Now)}
}

// anyPort is where the page is served if the settings do not say.
const anyPort = "127.0.0.1:0"

// wanted returns the address at which the page is to be served; "" if it is not wanted.
func (k *pageKeeper) wanted() string {
	c, err := k.app.Config()
	if err != nil {
		return k.listen
	}
	if c.Web.Listen == "" && (c.Doors.Any() || k.dir.Wanted()) {
		return anyPort
	}
	return c.Web.Listen
}

// look starts or ends the listener if that is wanted now. It costs a stat.
func (k *pageKeeper) look() {
	listen := k.wanted()
	if listen == k.listen {
		return
	}
	k.close()
	if listen == "" {
		return
	}
	err := k.start(listen)
	switch {
	case err == nil:
		k.listen, k.failed = listen, ""
	case err.Error() != k.failed: // it is tried again at the next look
		k.failed = err.Error()
		k.app.Log().Warn("the page is not served", "listen", listen, "err", err)
		k.note(0, err)
	}
}

func (k *pageKeeper) start(listen string) error {
	at, err := k.dir.Place()
	if err != nil {
		return err
	}
	k.server, err = web.Start(web.Options{
		Listen: listen, Port: at.Port, Host: at.Host, Logins: k.dir, Person: k.person, Now: k.app.Now, Log: k.app.Log(),
		Open: k.open, Program: k.program, MCP: k.mcp, Alive: k.service.Alive,
	})
	if err != nil {
		k.server = nil
		return err
	}
	port, moved := k.server.Port()
	if moved { // whoever has the old port may have got the cookies of open pages
		n, err := k.dir.EndAll()
		if err == nil {
			err = k.dir.Want()
		}
		if err != nil {
			return err
		}
		k.app.Log().Warn("another process has the port of the page: everybody is logged out", "sessions", n)
	}
	k.note(port, nil)
	k.app.Log().Info("the page is served", "port", port)
	return nil
}

// note stores where the page is now, or why it is nowhere.
func (k *pageKeeper) note(port int, failed error) {
	at, err := k.dir.Place()
	if err != nil {
		k.app.Log().Warn("page", "err", err)
		return
	}
	at.PID, at.Error = os.Getpid(), ""
	if port != 0 {
		at.Port = port
	}
	if failed != nil {
		at.Error = failed.Error()
	}
	if err := k.dir.SetPlace(at); err != nil {
		k.app.Log().Warn("page", "err", err)
	}
}

// person returns the service for the person of this home.
func (k *pageKeeper) person() api.Service {
	name := ""
	if c, err := k.app.Config(); err == nil {
		name = c.Username
	}
	return service.Door(k.service.As(api.Principal{Kind: api.Person, Name: name, Door: api.DoorPage}))
}

// open reports whether the settings open a door for programs.
func (k *pageKeeper) open(d api.Door) bool {
	c, err := k.app.Config()
	if err != nil {
		return false
	}
	return d == api.DoorMetrics && c.Doors.Metrics || d == api.DoorMCP && c.Doors.MCP
}

// program returns the service for a program that shows a token at a door.
func (k *pageKeeper) program(ctx context.Context, token string, d api.Door) (api.Service, error) {
	s, err := k.service.ByToken(ctx, token, d)
	if err != nil {
		return nil, service.ErrorOf(err)
	}
	return service.Door(s), nil
}

// mcp returns what answers a program that gives agents work. The hub that it runs in sees to
// it that somebody works.
func (k *pageKeeper) mcp(caller api.Service) http.Handler {
	return mcp.Handler(mcp.Options{
		As: func(string) api.Service { return caller }, Words: func(s api.Status) string { return words.Say(s, k.app.Now()) }, Version: version(),
	})
}

// version returns the version of the program, as far as it was built with one.
func version() string {
	if b, ok := debug.ReadBuildInfo(); ok {
		return b.Main.Version
	}
	return ""
}

// watched reports whether somebody has the page open, or programs may come at any time. Only the hub's goroutine calls it.
func (k *pageKeeper) watched() bool {
	return k.server != nil && (k.server.Watched() || k.open(api.DoorMetrics) || k.open(api.DoorMCP))
}

// close ends the listener, if there is one.
func (k *pageKeeper) close() {
	if k.server == nil {
		return
	}
	if err := k.server.Close(); err != nil {
		k.app.Log().Warn("page", "err", err)
	}
	k.server, k.listen = nil, ""
	if at, err := k.dir.Place(); err == nil {
		at.PID = 0
		_ = k.dir.SetPlace(at) // only to be quicker: a dead pid says the same
	}
}

// reloading returns reload with a look at the page before it.
func (k *pageKeeper) reloading(reload func(context.Context) ([]hub.Spec, bool)) func(context.Context) ([]hub.Spec, bool) {
	return func(ctx context.Context) ([]hub.Spec, bool) {
		k.look()
		return reload(ctx)
	}
}
