package config

import (
	"net/url"
	"regexp"
	"strings"
	"sync"
)

var (
	// addresses matches words that contain ://, up to a blank, a quote or a comma.
	addresses = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>,]+`)
	})
	// secretPairs matches name=value where the name says that the value is a secret.
	secretPairs = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b((?:[a-z0-9]+[_-])*(?:key|apikey|token|secret|password|passwd|pwd|sig|signature|auth|credential)=)([^&\s"'#;,]+)`)
	})
)

// WithoutSecrets returns a text with the secrets in its addresses replaced by "…":
// passwords, tokens in place of a user, and parameters such as key= and token=. It is
// for everything that people and programs are shown.
func WithoutSecrets(text string) string {
	if strings.Contains(text, "://") {
		text = addresses().ReplaceAllStringFunc(text, hideUser)
	}
	if strings.Contains(text, "=") {
		text = secretPairs().ReplaceAllString(text, "${1}…")
	}
	return text
}

// hideUser hides what precedes the host of an address.
func hideUser(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if _, err := url.Parse(address); err != nil && at < 0 {
		at = strings.LastIndexByte(rest, '@') // a password may contain a slash
	}
	if at < 0 {
		return address
	}
	user, _, withPassword := strings.Cut(rest[:at], ":")
	switch {
	case withPassword:
		user += ":…"
	case !strings.HasPrefix(scheme, "postgres"): // elsewhere a user alone is a token
		user = "…"
	}
	return scheme + "://" + user + rest[at:]
}
