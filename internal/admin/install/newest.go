package install

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"fika"
	"fika/internal/system/address"
)

const (
	newestTime = 20 * time.Second // for the whole answer
	newestSize = 1 << 20          // what is read of it
)

// Newest returns the version of the release at an address, the folder in which SHA256SUMS
// lists an archive for this machine. It sends one request, which says nothing of this
// installation, and follows redirects to https only. NotFound says why there is no answer.
func Newest(ctx context.Context, base string) (string, error) {
	const op = "look for the newest version"
	ctx, cancel := context.WithTimeout(ctx, newestTime)
	defer cancel()
	list := strings.TrimSuffix(base, "/") + "/SHA256SUMS"
	u, err := url.Parse(list)
	if err != nil || !safe(u) {
		return "", fika.Errorf(fika.Invalid, op, "%q is not an https address", base)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, list, nil)
	if err != nil {
		return "", fika.Wrap(fika.Invalid, op, err)
	}
	r.Header.Set("User-Agent", "fika")
	client := http.Client{CheckRedirect: func(to *http.Request, via []*http.Request) error {
		if len(via) > 5 || !safe(to.URL) {
			return errors.New("the redirect to " + to.URL.Redacted() + " is not followed")
		}
		return nil
	}}
	answer, err := client.Do(r)
	if err != nil {
		return "", fika.Errorf(fika.NotFound, op, "%v", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, newestSize))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status)
	}
	if err != nil {
		return "", fika.Errorf(fika.NotFound, op, "%s: %v", list, err)
	}
	archive := regexp.MustCompile(`(?m)^[0-9a-f]{64} [ *]fika-([0-9A-Za-z.+-]+)-` + runtime.GOOS + `-` + runtime.GOARCH + `\.tar\.gz$`)
	m := archive.FindAllSubmatch(text, 2)
	if len(m) != 1 {
		return "", fika.Errorf(fika.NotFound, op, "%s lists %d archives for %s/%s, not one", list, len(m), runtime.GOOS, runtime.GOARCH)
	}
	return string(m[0][1]), nil
}

// safe reports whether nobody on the way can change what an address answers.
func safe(u *url.URL) bool {
	return u.User == nil && (u.Scheme == "https" || u.Scheme == "http" && address.IsLoopback(u.Hostname()))
}

// Newer reports whether version b comes after version a. known is false if one of them is
// not the version of a release.
func Newer(a, b string) (newer, known bool) {
	a, b = "v"+strings.TrimPrefix(a, "v"), "v"+strings.TrimPrefix(b, "v")
	return semver.Compare(b, a) > 0, semver.IsValid(a) && semver.IsValid(b)
}

// IsAddress reports whether a source is an address that [Newest] may ask.
func IsAddress(source string) bool {
	u, err := url.Parse(source)
	return err == nil && safe(u)
}
