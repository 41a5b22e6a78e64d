package service

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/rights/login"
	"fika/internal/store"
	"fika/internal/text/hint"
)

// Tokens is the interface to the programs that may come in by a door.
type Tokens struct{ c *Service }

// Tokens returns the interface to tokens.
func (c *Service) Tokens() *Tokens { return &Tokens{c} }

// Token lets a program in.
type Token = store.Token

// tokenPrefix begins each secret, so that programs that look for leaked ones know them.
const tokenPrefix = "fika_"

// NewToken describes a token to make.
type NewToken struct {
	Name   string
	Doors  []string      // of [api.TokenDoors]; empty: all
	Agents []string      // that it reaches; empty: all
	Within time.Duration // from now until it expires, in whole seconds; 0: it does not
}

// Create makes a token and returns the secret that its program shows, which is not kept: a
// repeat of a write with a key returns none. Only persons do. Error kinds: Denied; Invalid
// for a name, a door or an end that is none; NotFound for an agent; Conflict for a name that
// is taken.
func (s *Tokens) Create(ctx context.Context, n NewToken) (secret string, made Token, err error) {
	const op = "create token"
	if err := s.c.may("token.create"); err != nil {
		return "", made, err
	}
	k := Token{Name: strings.ToLower(n.Name), Doors: n.Doors, Agents: n.Agents, By: s.c.who.Name}
	if _, err := fika.ParseAgentName(k.Name); err != nil {
		return "", made, fika.Errorf(fika.Invalid, op, "%.40q is not a name: use 1 to 32 of a-z 0-9 - and begin with a letter or a digit", n.Name)
	}
	if strings.Contains(k.Name, "_") { // it is a part of names of conversations
		return "", made, fika.Errorf(fika.Invalid, op, "the name of a token has no underscore: use a-z 0-9 and -")
	}
	if n.Within < 0 {
		return "", made, fika.Errorf(fika.Invalid, op, "a token cannot expire in the past")
	}
	if n.Within > 0 {
		k.Expires = s.c.now().Add(n.Within).Truncate(time.Second)
	}
	if len(k.Doors) == 0 {
		for _, d := range api.TokenDoors() {
			k.Doors = append(k.Doors, string(d))
		}
	}
	for _, d := range k.Doors {
		if !slices.Contains(api.TokenDoors(), api.Door(d)) {
			return "", made, fika.Errorf(fika.Invalid, op, "door %.40q not found; known: %s", d, TokenDoorNames())
		}
	}
	for _, name := range k.Agents {
		if name == "*" {
			continue
		}
		if _, err := s.c.Agents.Find(ctx, name); err != nil {
			return "", made, err
		}
	}
	if len(k.Agents) == 0 {
		k.Agents = []string{"*"}
	}
	if whose := s.nameIsOf(k.Name); whose != "" {
		return "", made, fika.Errorf(fika.Conflict, op, "%q is already the name of %s", k.Name, whose)
	}
	secret = tokenPrefix + rand.Text() + rand.Text()
	k.Hash = hashOfToken(secret)
	made, err = once(ctx, s.c, "token.create", []any{k.Name, k.Doors, k.Agents}, func(to *store.Store) (Token, error) { return to.CreateToken(ctx, k) },
		func(*store.Repeated) (Token, error) { return s.c.store.Token(ctx, k.Name) })
	if err != nil || made.Hash != k.Hash {
		secret = ""
	}
	return secret, made, err
}

// TokenDoorNames returns the doors that take tokens, as text.
func TokenDoorNames() string {
	var names []string
	for _, d := range api.TokenDoors() {
		names = append(names, string(d))
	}
	return strings.Join(names, ", ")
}

// nameIsOf says whose name in the settings a token would have; "": nobody's.
func (s *Tokens) nameIsOf(name string) string {
	c := s.c.config()
	switch {
	case c.Agent(fika.AgentName(name)) != nil:
		return "an agent"
	case strings.EqualFold(c.Username, name), name == "master":
		return "a person"
	case c.BusMember(name) != nil:
		return "a member of the bus"
	}
	return ""
}

// Hints returns how a program uses its token, and what is missing for that.
func (s *Tokens) Hints(k Token) (out []string) {
	c := s.c.config()
	open := map[string]bool{string(api.DoorMetrics): c.Doors.Metrics, string(api.DoorMCP): c.Doors.MCP}
	at, err := login.In(s.c.home.RunDir(), s.c.now).Place()
	for _, d := range k.Doors {
		switch {
		case !open[d]:
			out = append(out, fmt.Sprintf("/%s is closed: set %s = true under [doors] in config.toml", d, d))
		case err != nil || at.Port == 0:
			out = append(out, fmt.Sprintf("/%s opens when the hub starts: %s", d, hint.Up))
		default:
			out = append(out, fmt.Sprintf("it is for http://127.0.0.1:%d/%s", at.Port, d))
		}
	}
	return out
}

// List returns the tokens by name, those that have expired among them.
func (s *Tokens) List(ctx context.Context) ([]Token, error) { return s.c.sight().tokens(ctx) }

// Revoke removes a token: from then on nobody comes in with it, and streams that are open
// end. What its program has asked for goes on. Only persons do. Error kinds: Denied,
// NotFound.
func (s *Tokens) Revoke(ctx context.Context, name string) error {
	if err := s.c.may("token.revoke"); err != nil {
		return err
	}
	name = strings.ToLower(name)
	return s.c.onceOnly(ctx, "token.revoke", []any{name}, func(to *store.Store) error { return to.RevokeToken(ctx, name) })
}

// State says whether a token counts: "valid", "expired", or "shadowed" if an agent or a
// person has its name by now.
func (s *Tokens) State(ctx context.Context, k Token) (string, error) {
	if !k.Expires.IsZero() && !s.c.now().Before(k.Expires) {
		return "expired", nil
	}
	if s.nameIsOf(k.Name) != "" {
		return "shadowed", nil
	}
	_, err := s.c.store.Agent(ctx, fika.AgentName(k.Name))
	switch {
	case err == nil:
		return "shadowed", nil
	case fika.IsKind(err, fika.NotFound):
		return "valid", nil
	}
	return "", err
}

// ByToken returns the service for the program that shows a secret at a door: a foreign
// one, with the rights of its token. It fails with Denied if the secret does not count
// there, and says no more than that.
func (c *Service) ByToken(ctx context.Context, secret string, door api.Door) (*Service, error) {
	if !strings.HasPrefix(secret, tokenPrefix) {
		return nil, errToken()
	}
	k, err := c.tokenOf(ctx, hashOfToken(secret), door)
	if err != nil {
		return nil, err
	}
	if err := c.store.NoteTokenUse(ctx, k); err != nil && !IsBusy(err) {
		return nil, err
	}
	who := api.Principal{Kind: api.Program, Name: k.Name, Door: door, Agents: k.Agents, Most: api.Speaks, Token: k.Hash}
	if door == api.DoorMetrics {
		who.Most = api.Looks
	}
	return c.As(who), nil
}

// tokenOf returns the token of a hash if it counts at a door, or Denied.
func (c *Service) tokenOf(ctx context.Context, hash string, door api.Door) (Token, error) {
	k, found, err := c.store.TokenOf(ctx, hash)
	if err != nil {
		return k, err
	}
	if !found || !slices.Contains(k.Doors, string(door)) {
		return k, errToken()
	}
	if state, err := c.Tokens().State(ctx, k); err != nil || state != "valid" {
		if err == nil {
			err = errToken()
		}
		return k, err
	}
	return k, nil
}

// mayGoOn fails with Denied once the token that the principal has shown does not count
// any more. Who has shown none may go on.
func (c *Service) mayGoOn(ctx context.Context) error {
	if c.who.Token == "" {
		return nil
	}
	_, err := c.tokenOf(ctx, c.who.Token, c.who.Door)
	return err
}

func errToken() error { return fika.Errorf(fika.Denied, "", "this token is not valid here") }

func hashOfToken(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
