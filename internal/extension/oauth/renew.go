package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"fika"
	"fika/internal/settings/keyfile"
	"fika/internal/text/safetext"
)

// Renew returns a login with a new access token. The old refresh token may be void as
// soon as it returns: store the result before anything else. Error kinds: Denied when the
// server will not renew it again, Failed, Interrupted.
func Renew(ctx context.Context, l keyfile.Login, now func() time.Time) (keyfile.Login, error) {
	at, err := url.Parse(l.URL)
	if err != nil {
		return l, fika.Errorf(fika.Invalid, "", "the login has no address")
	}
	c, end := client(ctx, at)
	defer end()
	c.Transport = naming{c.Transport, l.Resource}
	conf := &oauth2.Config{
		ClientID: l.ClientID, ClientSecret: l.ClientSecret,
		Endpoint: oauth2.Endpoint{TokenURL: l.TokenURL, AuthStyle: oauth2.AuthStyle(l.AuthStyle)},
	}
	t, err := conf.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, c), &oauth2.Token{RefreshToken: l.Refresh}).Token()
	if err != nil {
		return l, refusal(ctx, err, l.Refresh, l.ClientSecret)
	}
	return granted(l, t, now)
}

// granted returns a login with a token that a server has given. Error kind: Failed for a
// token that cannot be sent.
func granted(l keyfile.Login, t *oauth2.Token, now func() time.Time) (keyfile.Login, error) {
	if !strings.EqualFold(t.Type(), "bearer") {
		return l, fika.Errorf(fika.Failed, "", "it gives tokens of the type %q: only bearer tokens can be sent", plain(t.Type()))
	}
	for _, text := range []string{t.AccessToken, t.RefreshToken} {
		if len(text) > maxToken || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return l, fika.Errorf(fika.Failed, "", "it gives a token that cannot be sent: longer than %d bytes, or with other characters than a header may have", maxToken)
		}
	}
	l.Access, l.Refresh, l.Expires, l.Ended = t.AccessToken, t.RefreshToken, time.Time{}, ""
	if life := time.Until(t.Expiry); !t.Expiry.IsZero() && life > 0 {
		l.Expires = now().Add(life)
	}
	return l, nil
}

// maxToken is the most bytes of a token: servers refuse headers that are longer.
const maxToken = 16 << 10

// refusal explains why there is no token. secrets do not appear in the error, whatever
// the server says.
func refusal(ctx context.Context, err error, secrets ...string) error {
	var own *fika.Error
	var said *oauth2.RetrieveError
	switch {
	case ctx.Err() != nil:
		return fika.Wrap(fika.Interrupted, "", context.Cause(ctx))
	case errors.As(err, &own):
		return own
	case !errors.As(err, &said):
		return fika.Errorf(fika.Failed, "", "%s", plain(err.Error(), secrets...))
	}
	text := said.ErrorCode
	if said.ErrorDescription != "" {
		text += ": " + said.ErrorDescription
	}
	status := said.Response.StatusCode
	if text == "" {
		text = "HTTP " + said.Response.Status
	}
	kind := fika.Failed
	if status >= 400 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests || status < 400 && said.ErrorCode != "" {
		kind = fika.Denied
	}
	return fika.Errorf(kind, "", "%s", plain(text, secrets...))
}

// plain returns what a server or the library says as one short line without secrets.
func plain(text string, secrets ...string) string {
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "…")
		}
	}
	text = strings.TrimSpace(safetext.Line(text))
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	return text
}
