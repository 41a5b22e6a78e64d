package store

import (
	"strings"
	"testing"

	"fika"
)

// TestStrictURL: a server on another machine must show a certificate, even if it is
// one of several, and of several servers the one that accepts writes is used.
func TestStrictURL(t *testing.T) {
	for _, c := range []struct{ url, has, lacks string }{
		{"postgres://u@127.0.0.1/x", "", "sslmode"},
		{"postgres://u@localhost:5433/x", "", "sslmode"},
		{"postgres://u@[::1]:5433/x", "", "sslmode"},
		{"postgres:///x?host=/run/postgresql", "", "sslmode"},
		{"postgres://u@db.example/x", "sslmode=verify-full", "target_session_attrs"},
		{"postgres://u@127.0.0.1:1,127.0.0.1:2/x", "target_session_attrs=read-write", "sslmode"},
		{"postgres://u@127.0.0.1:1,db.example:2/x", "sslmode=verify-full", ""},
		{"postgres:///x?host=/run/a,/run/b", "target_session_attrs=read-write", "sslmode"},
		{"postgres://u@a.example,b.example/x?target_session_attrs=primary", "target_session_attrs=primary", "read-write"},
	} {
		got, err := strictURL(c.url)
		if err != nil || !strings.Contains(got, c.has) || c.lacks != "" && strings.Contains(got, c.lacks) {
			t.Errorf("%s becomes %q, %v", c.url, got, err)
		}
	}
	for _, url := range []string{"postgres://u@db.example/x?sslmode=disable", "postgres://u@127.0.0.1:1,db.example:2/x?sslmode=prefer", "mysql://u@x/y"} {
		if got, err := strictURL(url); !fika.IsKind(err, fika.Invalid) {
			t.Errorf("%s becomes %q, %v", url, got, err)
		}
	}
	for _, password := range []string{"a/b", "a#b", "a?b", "a%b", "5/%"} {
		if _, err := strictURL("postgres://u:" + password + "@127.0.0.1/x"); err == nil || !strings.Contains(err.Error(), "percent-encoded") || strings.Contains(err.Error(), password) {
			t.Errorf("a password with %q: %v", password, err)
		}
	}
	if got, err := strictURL("postgres://u:a%2Fb@127.0.0.1/x"); err != nil || !strings.Contains(got, "a%2Fb") {
		t.Errorf("%q, %v", got, err)
	}
}
