package oauth

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"fika"
	"fika/internal/settings/keyfile"
)

// Target is a server that a person logs in to.
type Target struct {
	URL          string
	ClientID     string // as which the server knows fika; "": fika registers itself
	ClientSecret string
	Scopes       []string // to ask for besides those that the server names
	Port         int      // on this machine, where the browser returns to; 0: any
}

// LogIn has a person log in, in their browser, and returns what the server gave. Nothing
// is stored. Error kinds: Denied when the person or the server refuses, Failed,
// Interrupted when ctx ends first.
func LogIn(ctx context.Context, t Target, p Prompt, now func() time.Time) (keyfile.Login, error) {
	at, err := url.Parse(t.URL)
	if err == nil {
		err = safe(at)
	}
	if err != nil {
		return keyfile.Login{}, err
	}
	c, end := client(ctx, at)
	defer end()
	here, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(t.Port)))
	if err != nil {
		return keyfile.Login{}, fika.Errorf(fika.Failed, "", "nothing can listen for the browser: %v", err)
	}
	defer here.Close()
	f := &flow{target: t, prompt: p, now: now, here: here}
	h, err := auth.NewAuthorizationCodeHandler(f.settings(c))
	if err != nil {
		return keyfile.Login{}, fika.Wrap(fika.Invalid, "", err)
	}
	req, resp, err := knock(ctx, c, t.URL)
	if err == nil {
		err = h.Authorize(ctx, req, resp)
	}
	switch {
	case err == nil:
		return f.login, nil
	case !f.shown && t.ClientID == "" && ctx.Err() == nil:
		return keyfile.Login{}, fika.Errorf(fika.Failed, "", "%v; a server that registers no programs by itself needs client_id in its [[mcp]] entry, and one that takes a key bearer_env", refusal(ctx, err))
	}
	return keyfile.Login{}, refusal(ctx, err, t.ClientSecret)
}

// knock asks a server without saying who calls, and returns the refusal, which says where
// to log in.
func knock(ctx context.Context, c *http.Client, server string) (*http.Request, *http.Response, error) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"fika","version":"1"}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server, strings.NewReader(hello))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := c.Do(req)
	if err != nil {
		return nil, nil, err
	}
	_ = resp.Body.Close()
	resp.Body = http.NoBody
	switch status := resp.StatusCode; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status < 300: // one that talks to everybody may still have more for some
		resp.StatusCode = http.StatusUnauthorized
		return req, resp, nil
	default:
		return nil, nil, fika.Errorf(fika.Failed, "", "it answered HTTP %d (%s)", status, http.StatusText(status))
	}
}

// flow is one login.
type flow struct {
	target Target
	prompt Prompt
	now    func() time.Time
	here   net.Listener

	shown    bool   // the person was shown where to log in
	resource string // as the server names itself
	login    keyfile.Login
}

const returnPath = "/callback"

func (f *flow) settings(c *http.Client) *auth.AuthorizationCodeHandlerConfig {
	back := "http://" + f.here.Addr().String() + returnPath
	conf := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: back, AuthorizationCodeFetcher: f.fetch, NewTokenSource: f.keep, Client: c,
		RequestRefreshToken: true, AcceptUnadvertisedIss: true,
		ScopeFilter: func(found []string) []string {
			for _, s := range f.target.Scopes {
				if !slices.Contains(found, s) {
					found = append(found, s)
				}
			}
			return found
		},
	}
	if f.target.ClientID == "" {
		conf.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "fika", RedirectURIs: []string{back}, TokenEndpointAuthMethod: "none",
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}}
		return conf
	}
	conf.PreregisteredClient = &oauthex.ClientCredentials{ClientID: f.target.ClientID}
	if f.target.ClientSecret != "" {
		conf.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: f.target.ClientSecret}
	}
	return conf
}

// fetch shows the person where to log in, and returns what the browser brings back.
func (f *flow) fetch(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	at, err := url.Parse(args.URL)
	if err == nil {
		err = safe(at)
	}
	if err != nil {
		return nil, err
	}
	f.shown, f.resource = true, at.Query().Get("resource")
	return await(ctx, f.here, f.prompt, args.URL, at.Query().Get("state"))
}

// keep notes the first token.
func (f *flow) keep(_ context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
	to, err := url.Parse(c.Endpoint.TokenURL)
	if err == nil {
		err = safe(to)
	}
	if err != nil {
		return nil, err
	}
	f.login, err = granted(keyfile.Login{
		URL: f.target.URL, Resource: f.resource, TokenURL: c.Endpoint.TokenURL,
		ClientID: c.ClientID, ClientSecret: c.ClientSecret, AuthStyle: int(c.Endpoint.AuthStyle),
	}, t, f.now)
	return oauth2.StaticTokenSource(t), err
}
