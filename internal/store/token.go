package store

import (
	"context"
	"encoding/json"
	"time"

	"fika"
	"fika/internal/text/hint"
)

// Tokens keeps the programs that may come in by a door.
type Tokens struct{ *db }

// Token lets a program in. Of the secret that the program shows, only the hash is kept.
type Token struct {
	Name    string // of the program; no agent and no person has it when the token is made
	Hash    string // SHA-256 of the secret in hex
	Doors   []string
	Agents  []string // that it reaches; "*": all
	By      string   // the person who made it
	Created time.Time
	Expires time.Time // zero: never
	Used    time.Time // last, give or take an hour; zero: never
}

const selectToken = `SELECT k.name, k.hash, k.doors, k.agents, k.made_by, k.created_at, k.expires_at, k.used_at FROM tokens k`

func scanToken(s scanner) (t Token, err error) {
	var doors, agents string
	var created, expires, used int64
	if err = s.Scan(&t.Name, &t.Hash, &doors, &agents, &t.By, &created, &expires, &used); err != nil {
		return t, err
	}
	t.Created, t.Expires, t.Used = at(created), at(expires), at(used)
	if err = json.Unmarshal([]byte(doors), &t.Doors); err == nil {
		err = json.Unmarshal([]byte(agents), &t.Agents)
	}
	return t, err
}

// CreateToken stores a token. It fails with Conflict if a token, an agent or a person has
// its name.
func (s Tokens) CreateToken(ctx context.Context, k Token) (Token, error) {
	const op = "create token"
	var out Token
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		whose, taken, err := one(ctx, t, scanText, `SELECT 'a token' FROM tokens WHERE name = ? UNION ALL SELECT 'an agent' FROM agents WHERE name = ?
UNION ALL SELECT 'a person' FROM participants WHERE lower(person) = ? LIMIT 1`, k.Name, k.Name, k.Name)
		if err != nil {
			return err
		}
		if taken {
			return fika.Errorf(fika.Conflict, op, "%q is already the name of %s", k.Name, whose)
		}
		doors, err := toJSON(op, k.Doors)
		if err != nil {
			return err
		}
		agents, err := toJSON(op, k.Agents)
		if err != nil {
			return err
		}
		out = k
		out.Created = at(t.now)
		return t.put(ctx, `INSERT INTO tokens (name, hash, doors, agents, made_by, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			k.Name, k.Hash, doors, agents, k.By, t.now, ms(k.Expires))
	})
	return out, err
}

// ListTokens returns all tokens by name, those that have expired among them.
func (s Tokens) ListTokens(ctx context.Context) ([]Token, error) {
	list, err := many(ctx, s.r, scanToken, selectToken+` ORDER BY k.name`)
	return list, s.explain("list tokens", err)
}

// Token returns the token of a name, or NotFound.
func (s Tokens) Token(ctx context.Context, name string) (Token, error) {
	const op = "read token"
	k, found, err := one(ctx, s.r, scanToken, selectToken+` WHERE k.name = ?`, name)
	if err == nil && !found {
		err = fika.WithHint(fika.Errorf(fika.NotFound, op, "token %q not found", name), hint.TokenList.With())
	}
	return k, s.explain(op, err)
}

// TokenOf returns the token whose secret has a hash, whether it has expired or not; false
// if there is none.
func (s Tokens) TokenOf(ctx context.Context, hash string) (Token, bool, error) {
	k, found, err := one(ctx, s.r, scanToken, selectToken+` WHERE k.hash = ?`, hash)
	return k, found, s.explain("read token", err)
}

// usedEvery bounds how often the use of a token is noted.
const usedEvery = time.Hour

// NoteTokenUse notes that a token was used, unless that was noted within the hour.
func (s Tokens) NoteTokenUse(ctx context.Context, k Token) error {
	if now := s.nowMS(); now-ms(k.Used) < usedEvery.Milliseconds() {
		return nil
	}
	return s.writeRelaxed(ctx, "note use of token", func(ctx context.Context, t *tx) error {
		return t.put(ctx, `UPDATE tokens SET used_at = ? WHERE hash = ?`, t.now, k.Hash)
	})
}

// RevokeToken removes a token: from its commit on nobody comes in with it. It fails with
// NotFound.
func (s Tokens) RevokeToken(ctx context.Context, name string) error {
	const op = "revoke token"
	return s.write(ctx, op, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, `DELETE FROM tokens WHERE name = ?`, name)
		if err == nil && n == 0 {
			err = fika.WithHint(fika.Errorf(fika.NotFound, op, "token %q not found", name), hint.TokenList.With())
		}
		return err
	})
}
