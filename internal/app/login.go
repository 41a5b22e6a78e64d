package app

import (
	"context"
	"time"

	"fika"
	"fika/internal/extension/oauth"
	"fika/internal/settings/config"
	"fika/internal/settings/keyfile"
	"fika/internal/system/sleep"
	"fika/internal/text/hint"
)

// LogIn has a person log in to a remote MCP server, and stores what it gives. Error
// kinds: Invalid for a server without a login, those of [oauth.LogIn] and of the key file.
func (k *Keyring) LogIn(ctx context.Context, s config.MCPServer, scopes []string, port int, p oauth.Prompt) error {
	t := oauth.Target{URL: s.URL, ClientID: s.ClientID, Scopes: scopes, Port: port}
	if s.ClientSecretEnv != "" {
		var err error
		if t.ClientSecret, err = k.ServerKey(s.ClientSecretEnv, s); err != nil {
			return err
		}
	}
	f, err := k.Keys()
	if err != nil {
		return err
	}
	l, err := oauth.LogIn(ctx, t, p, k.opts.Now)
	if err != nil {
		return err
	}
	lock, err := f.LockLogin(ctx, s.Name)
	if err != nil {
		return err
	}
	defer lock.Close() // closing it releases the lock
	return k.storeLogin(ctx, f, s.Name, l)
}

// storeLogin stores a login. When it returns, every process of this home removes its
// tokens from what it stores or shows.
func (k *Keyring) storeLogin(ctx context.Context, f keyfile.File, server string, l keyfile.Login) error {
	if err := f.SetLogin(server, l, k.opts.Now()); err != nil {
		return err
	}
	_ = sleep.For(ctx, secretsRest) // others may have looked just before; it is stored in any case
	return nil
}

// LoginState says how a person's login to a server stands.
type LoginState struct {
	There bool      // there is one
	Works bool      // as far as is known
	Why   string    // it does not work
	Ends  time.Time // zero: it is renewed, or nobody knows
}

// LoginTo returns how the login to a server stands, without asking the server. Error
// kinds: those of reading the key file.
func (k *Keyring) LoginTo(s config.MCPServer) (LoginState, error) {
	f, err := k.Keys()
	if err != nil {
		return LoginState{}, err
	}
	l, err := f.Login(s.Name)
	if fika.IsKind(err, fika.NotFound) {
		return LoginState{}, nil
	}
	if err != nil {
		return LoginState{}, err
	}
	state := LoginState{There: true, Why: whyUseless(l, s)}
	switch {
	case state.Why != "":
	case l.Refresh != "":
		state.Works = true
	case !usable(l, "", k.opts.Now()):
		state.Why = "it has ended"
	default:
		state.Works, state.Ends = true, l.Expires
	}
	return state, nil
}

// LogOut forgets the tokens of the login to a server; the server is not told. It fails
// with NotFound if there is no login.
func (k *Keyring) LogOut(ctx context.Context, s config.MCPServer) error {
	return k.endLogin(ctx, s.Name, func(f keyfile.File) error {
		return f.SetLogin(s.Name, keyfile.Login{URL: s.URL, Ended: "you have logged out"}, k.opts.Now())
	})
}

// ForgetLogin removes what is kept of the login to a server, if there is anything.
func (k *Keyring) ForgetLogin(ctx context.Context, server string) error {
	err := k.endLogin(ctx, server, func(f keyfile.File) error { return f.RemoveLogin(server) })
	if fika.IsKind(err, fika.NotFound) {
		return nil
	}
	return err
}

// endLogin ends a login while nobody renews it, which would store it again.
func (k *Keyring) endLogin(ctx context.Context, server string, end func(keyfile.File) error) error {
	f, err := k.Keys()
	if err != nil {
		return err
	}
	if _, err := f.Login(server); err != nil {
		return err
	}
	lock, err := f.LockLogin(ctx, server)
	if err != nil {
		return err
	}
	defer lock.Close() // closing it releases the lock
	return end(f)
}

// ServerToken returns what tells a remote MCP server who calls: the key that bearer_env
// names, else the access token of a login, else "". refused is a token that the server
// has just refused; a login is then renewed, if nobody else has done that. Error kinds:
// Denied when a person has to log in again, those of [Keyring.ServerKey] and
// [oauth.Renew].
func (k *Keyring) ServerToken(ctx context.Context, s config.MCPServer, refused string) (string, error) {
	if s.BearerEnv != "" {
		return k.ServerKey(s.BearerEnv, s)
	}
	f, err := k.Keys()
	if err != nil {
		return "", err
	}
	l, err := f.Login(s.Name)
	if fika.IsKind(err, fika.NotFound) {
		return "", nil
	}
	if err == nil && whyUseless(l, s) == "" && usable(l, refused, k.opts.Now()) {
		return l.Access, nil
	}
	if err != nil {
		return "", err
	}
	return k.renewed(ctx, f, s, refused)
}

// renewed renews a login, in one process at a time: a server may take each refresh token
// only once. What it gives is on disk before it is used.
func (k *Keyring) renewed(ctx context.Context, f keyfile.File, s config.MCPServer, refused string) (string, error) {
	lock, err := f.LockLogin(ctx, s.Name)
	if err != nil {
		return "", err
	}
	defer lock.Close() // closing it releases the lock
	l, err := f.Login(s.Name)
	if err != nil {
		return "", err
	}
	why := whyUseless(l, s)
	switch {
	case why == "" && usable(l, refused, k.opts.Now()):
		return l.Access, nil // another process has renewed it
	case why == "" && l.Refresh == "":
		why = "it has ended"
	}
	if why != "" {
		return "", loginNeeded(s, why)
	}
	next, err := oauth.Renew(ctx, l, k.opts.Now)
	switch {
	case fika.IsKind(err, fika.Denied):
		l.Ended = "the server does not renew it: " + err.Error()
		if err := k.storeLogin(ctx, f, s.Name, l); err != nil {
			return "", err
		}
		return "", loginNeeded(s, l.Ended)
	case err != nil && l.Access != refused && k.opts.Now().Before(l.Expires):
		return l.Access, nil // its last seconds
	case err != nil:
		return "", fika.Errorf(fika.KindOf(err), "", "its login cannot be renewed now: %v", err)
	}
	return next.Access, k.storeLogin(ctx, f, s.Name, next)
}

// loginNeeded is the error for a login that a person has to repeat.
func loginNeeded(s config.MCPServer, why string) error {
	return fika.Errorf(fika.Denied, "", "needs login: %s (%s)", hint.MCPLogin.With(s.Name), why)
}

// whyUseless says why a login cannot be used for a server, however new its tokens are.
func whyUseless(l keyfile.Login, s config.MCPServer) string {
	switch {
	case l.URL != s.URL:
		return "the last login was to " + hostOf(l.URL)
	case l.Ended != "":
		return l.Ended
	}
	return ""
}

// renewBefore is how long before its end an access token is no longer used.
const renewBefore = 10 * time.Second

// usable reports whether the access token of a login can be sent.
func usable(l keyfile.Login, refused string, now time.Time) bool {
	return l.Access != "" && l.Access != refused && (l.Expires.IsZero() || now.Before(l.Expires.Add(-renewBefore)))
}
