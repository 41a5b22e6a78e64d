package keyfile

import (
	"context"
	"errors"
	"os"
	"time"

	"fika"
	"fika/internal/system/process"
	"fika/internal/system/sleep"
	"fika/internal/text/hint"
)

// Login is what logging in to a server by OAuth left: who fika is there, and its tokens.
type Login struct {
	URL      string `json:"url"`      // of the server: no other gets the access token
	Resource string `json:"resource"` // what the tokens are for, as the server names itself
	TokenURL string `json:"token_url"`
	ClientID string `json:"client_id"`
	// ClientSecret is empty for a public client.
	ClientSecret string    `json:"client_secret,omitempty"`
	AuthStyle    int       `json:"auth_style"` // an oauth2.AuthStyle
	Access       string    `json:"access_token"`
	Refresh      string    `json:"refresh_token,omitempty"` // "": it cannot be renewed
	Expires      time.Time `json:"expires,omitzero"`        // zero: the server did not say
	// Ended says why the server no longer renews it; "": it does, as far as is known.
	Ended string `json:"ended,omitempty"`
}

// secrets returns what must not be shown, by name.
func (l Login) secrets() map[string]string {
	return map[string]string{"access token": l.Access, "refresh token": l.Refresh, "client secret": l.ClientSecret}
}

// loginPrefix begins the names of logins among the keys. No variable has such a name.
const loginPrefix = "login:"

// Login returns the login to a server. Error kinds: NotFound, and those of [File.Use].
func (f File) Login(server string) (Login, error) {
	keys, err := f.read()
	if err != nil {
		return Login{}, err
	}
	k := keys[loginPrefix+server]
	if k.Login == nil {
		return Login{}, fika.Errorf(fika.NotFound, op, "no login to %s is stored; %s stores one", server, hint.MCPLogin.With(server))
	}
	return *k.Login, nil
}

// SetLogin stores the login to a server in place of another one. When it returns, the
// login is on disk.
func (f File) SetLogin(server string, l Login, now time.Time) error {
	return f.change(func(keys map[string]stored) error {
		keys[loginPrefix+server] = stored{Set: now.UTC(), Login: &l}
		return nil
	})
}

// RemoveLogin removes the login to a server. It fails with NotFound if there is none.
func (f File) RemoveLogin(server string) error {
	return f.change(func(keys map[string]stored) error {
		if _, ok := keys[loginPrefix+server]; !ok {
			return fika.Errorf(fika.NotFound, op, "no login to %s is stored", server)
		}
		delete(keys, loginPrefix+server)
		return nil
	})
}

// LockLogin blocks until this process alone may renew the login to a server. The lock
// ends with Close of the returned file, or with the process. It fails with Interrupted
// when ctx ends.
func (f File) LockLogin(ctx context.Context, server string) (*os.File, error) {
	lock, err := os.OpenFile(f.path+"."+server+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fika.Wrap(fika.Storage, op, err)
	}
	for {
		err := process.LockFile(lock)
		if err == nil {
			return lock, nil
		}
		if errors.Is(err, process.ErrHeld) {
			err = sleep.For(ctx, 10*time.Millisecond)
		}
		if err != nil {
			_ = lock.Close()
			return nil, fika.Wrap("", op, err)
		}
	}
}
