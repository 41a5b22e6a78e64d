package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// writtenForms returns the ways in which a value may be written: as it is, in hexadecimal
// digits, in base64 at any offset within the encoded data, percent-encoded, and as a JSON
// string. Some may be equal.
func writtenForms(value string) []string {
	digits := hex.EncodeToString([]byte(value))
	list := []string{value, digits, strings.ToUpper(digits)}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			list = append(list, encodedWithin(enc, value, before))
		}
	}
	for _, escaped := range []string{url.QueryEscape(value), url.PathEscape(value)} {
		list = append(list, escaped, percent().ReplaceAllStringFunc(escaped, strings.ToLower))
	}
	for _, html := range []bool{true, false} {
		list = append(list, jsonQuoted(value, html))
	}
	return list
}

// percent matches one percent-encoded byte.
var percent = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[0-9A-F]{2}`) })

// encodedWithin returns the part of an encoding that depends on value alone, if before
// bytes precede it in its group of three and anything follows it.
func encodedWithin(enc *base64.Encoding, value string, before int) string {
	bits := 8 * (before + len(value))
	text := enc.EncodeToString(append(make([]byte, before), value...))
	first := (8*before + 5) / 6
	return text[first : bits/6]
}

// jsonQuoted returns value as it stands between the quotes of a JSON string.
func jsonQuoted(value string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if enc.Encode(value) != nil {
		return value
	}
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\n"), `"`)
}
