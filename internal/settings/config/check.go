package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"fika"
	"fika/internal/rights/guard"
	"fika/internal/settings/toml"
	"fika/internal/system/address"
	"fika/internal/workflow/schedule"
)

// Checks return what is wrong with a value of the right type, or "".

func checkName(v value, at any) string {
	s := at.(*string)
	n, err := fika.ParseAgentName(*s)
	if err != nil {
		return fika.ReasonOf(err)
	}
	*s = string(n)
	return ""
}

// checkListen allows loopback addresses with a port alone: whoever can reach the page needs
// no more than a session.
func checkListen(_ value, at any) string {
	s := *at.(*string)
	if s == "" {
		return ""
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return "must be an address and a port, as in \"127.0.0.1:0\""
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return "must be a loopback address, as in \"127.0.0.1:0\": others could reach the page"
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "must have a port from 0 to 65535"
	}
	return ""
}

func checkNames(_ value, at any) string { return parseNames(at, fika.ParseAgentName) }

// checkAddressees is checkNames that also allows the name under which teams are asked.
func checkAddressees(_ value, at any) string { return parseNames(at, fika.ParseAddressee) }

func parseNames(at any, parse func(string) (fika.AgentName, error)) string {
	list := at.(*[]string)
	for i, s := range *list {
		n, err := parse(s)
		if err != nil {
			return fika.ReasonOf(err)
		}
		(*list)[i] = string(n)
	}
	return ""
}

// checkHostWords checks names and labels of hosts, which may have a ! before them.
func checkHostWords(_ value, at any) string {
	list := *at.(*[]string)
	if len(list) == 0 {
		return "names no host: leave it out if the agent may run on any"
	}
	seen := map[string]bool{}
	for _, s := range list {
		word, _ := strings.CutPrefix(s, "!")
		switch {
		case !isHostWord(word):
			return fmt.Sprintf("%.40q is neither the name nor the label of a host: use a-z A-Z 0-9 . _ - and begin with a letter or a digit; ! before it excludes a host", s)
		case seen[word]:
			return fmt.Sprintf("names %q twice", word)
		}
		seen[word] = true
	}
	return ""
}

func isHostWord(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("._-", r)) {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// checkCallers is checkNames that also allows user and *, for people and for all.
func checkCallers(_ value, at any) string {
	list := at.(*[]string)
	for i, s := range *list {
		if s == guard.User || s == guard.Anyone {
			continue
		}
		n, err := fika.ParseAgentName(s)
		if err != nil {
			return fika.ReasonOf(err) + "; besides agents there are user and *"
		}
		(*list)[i] = string(n)
	}
	return ""
}

// checkSkills checks names of skills; whether there are such skills is not known here.
func checkSkills(_ value, at any) string {
	for _, name := range *at.(*[]string) {
		if name == "" || strings.ContainsAny(name, " \t\n/") || name != "*" && strings.Contains(name, "*") {
			return toml.Quote(name) + " is not the name of a skill; * stands for all"
		}
	}
	return ""
}

func checkHosts(_ value, at any) string {
	for _, text := range *at.(*[]string) {
		if _, err := address.ParseHost(text); err != nil {
			return fika.ReasonOf(err)
		}
	}
	return ""
}

func checkUsername(v value, _ any) string {
	if _, err := fika.ParseUsername(v.Text); err != nil {
		return fika.ReasonOf(err)
	}
	return ""
}

// checkZone checks the name of a time zone.
func checkZone(_ value, at any) string {
	_, wrong := schedule.FindZone(*at.(*string))
	return wrong
}

func checkURL(v value, _ any) string {
	u, err := url.Parse(v.Text)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return toml.Quote(v.Text) + " is not an address: write it as in https://api.openai.com/v1"
	case u.User != nil:
		return "an address cannot carry a password; name the key's variable in api_key_env"
	}
	return ""
}

// checkUpdateURL checks an address that decides what a person installs next.
func checkUpdateURL(v value, at any) string {
	if wrong := checkURL(v, at); wrong != "" {
		return wrong
	}
	if strings.HasPrefix(v.Text, "http:") && !address.LoopbackURL(v.Text) {
		return "what comes over plain http can be changed by others: use https"
	}
	return ""
}

func checkNATS(v value, _ any) string {
	for _, one := range strings.Split(v.Text, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Host == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) {
			return toml.Quote(one) + " is not a NATS address: write it as in nats://localhost:4222"
		}
	}
	return ""
}

func checkStore(v value, _ any) string {
	switch u, err := url.Parse(v.Text); {
	case v.Text == "":
		return ""
	case err == nil && slices.Contains([]string{"postgres", "postgresql"}, u.Scheme):
		return ""
	default: // not shown: it may contain a password
		return "this is not the address of a PostgreSQL database: write it as in postgres://user@host/name, or remove the key and fika.db in the home is used"
	}
}

// checkRemote takes the name of a remote, which is no option and no address.
func checkRemote(v value, _ any) string {
	if v.Text == "" || strings.HasPrefix(v.Text, "-") || strings.ContainsAny(v.Text, ":@ \t\n\\~^?*[") {
		return "must be the name of a remote of the repository, as git remote lists it, and no address"
	}
	return ""
}

func checkEnvName(v value, _ any) string {
	if v.Text == "" {
		return ""
	}
	return envName(v.Text)
}

// WrongEnvName says why a text cannot be the name of a variable; "" if it can. It does
// not repeat a text that looks like a key.
func WrongEnvName(s string) string { return envName(s) }

func envName(s string) string {
	for i := range len(s) {
		c := s[i]
		if c == '_' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || i > 0 && '0' <= c && c <= '9' {
			continue
		}
		if looksLikeKey(s) {
			return "this looks like a key itself: put it into an environment variable and write that variable's name here"
		}
		return toml.Quote(s) + " is not the name of an environment variable"
	}
	if s == "" {
		return "the name of an environment variable is missing"
	}
	return ""
}

// looksLikeKey recognises secrets, which must not be repeated on a terminal.
func looksLikeKey(s string) bool {
	return len(s) >= 16 && strings.Contains(s, "-") && !strings.ContainsAny(s, " /")
}

func checkPrefix(v value, _ any) string {
	for _, token := range strings.Split(v.Text, ".") {
		if token == "" || strings.ContainsAny(token, " \t\r\n*>$") {
			return toml.Quote(v.Text) + " cannot begin a subject: use words joined by dots, without spaces, * or >"
		}
	}
	return ""
}
