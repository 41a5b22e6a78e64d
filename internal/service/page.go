package service

import (
	"context"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/rights/authority"
	"fika/internal/rights/login"
	"fika/internal/system/process"
	"fika/internal/system/sleep"
)

// pageStarts bounds how long the hub may take to serve the page.
const pageStarts = 10 * time.Second

// Page makes the hub serve the page, starts a hub if none runs, and returns an address
// with which one browser can log in, once, within [login.CodeLife]. Only persons may: for
// others it returns Denied.
func (s *Hub) Page(ctx context.Context, who api.Principal) (string, error) {
	dir, err := s.logins(who)
	if err != nil {
		return "", err
	}
	ready, _, err := s.Start(ctx, nil)
	if err != nil {
		return "", err
	}
	if err := dir.Want(); err != nil {
		return "", err
	}
	at, err := awaitPage(ctx, dir, ready.PID)
	if err != nil {
		return "", err
	}
	code, err := dir.NewCode()
	if err != nil {
		return "", err
	}
	return "http://" + net.JoinHostPort(at.Host, strconv.Itoa(at.Port)) + "/#" + code, nil
}

// LogOut ends all sessions of the page and returns how many there were. If the settings
// do not ask for the page, it is served no more.
func (s *Hub) LogOut(who api.Principal) (int, error) {
	dir, err := s.logins(who)
	if err != nil {
		return 0, err
	}
	return dir.EndAll()
}

func (s *Hub) logins(who api.Principal) (login.Dir, error) {
	verb, _ := api.Find("host.web")
	if who.Kind != api.Person || authority.Check(who, verb, authority.Own) != authority.None {
		return login.Dir{}, fika.Errorf(fika.Denied, "", "the page is for persons: %s cannot log in to it", who.Name)
	}
	h, err := s.app.Home()
	return login.In(h.RunDir(), s.app.Now), err
}

// awaitPage waits until a hub serves the page.
func awaitPage(ctx context.Context, dir login.Dir, hub int) (login.Place, error) {
	ctx, cancel := context.WithTimeout(ctx, pageStarts)
	defer cancel()
	for {
		at, err := dir.Place()
		switch {
		case err != nil:
			return at, err
		case at.PID == hub && at.Error != "":
			return at, fika.Errorf(fika.Failed, "web", "the hub cannot serve the page: %s", at.Error)
		case at.PID == hub && at.Port != 0:
			return at, nil
		}
		if sleep.For(ctx, lookEvery) != nil {
			return at, fika.Errorf(fika.Failed, "web", "the hub (pid %d) does not serve the page; its log, hub.log in run/logs of the home, says why", hub)
		}
	}
}

// OpenBrowser shows an address in the person's browser, if there is a desktop to show it
// on, and reports whether it has begun to.
func OpenBrowser(url string, getenv func(string) string) bool {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	} else if getenv("DISPLAY") == "" && getenv("WAYLAND_DISPLAY") == "" {
		return false
	}
	if getenv("SSH_CONNECTION") != "" {
		return false
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return false
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer null.Close()
	cmd := exec.Command(path, url)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = null, null, null, process.OwnGroup()
	if err := cmd.Start(); err != nil {
		return false
	}
	return cmd.Process.Release() == nil
}
