// Package drive makes requests in tests of drivers and checks their results.
//
//	c := drive.Client(t, nil, finger.Load)
//	drive.Gets(t, c, s.URL+"/joe", "Joe\r\n")
//	drive.Fails(t, c, s.URL+"/nobody", fetch.ErrNotFound)
//
// Requests use the context of the test. For a request with another context, use Read.
package drive

import (
	"cmp"
	"context"
	"io"
	"testing"

	"github.com/urlget/urlget/fetch"
)

// Client returns a client that is closed when the test ends. If opts is nil, the client has default
// options.
func Client(t testing.TB, opts *fetch.Options, load ...fetch.Loader) *fetch.Client {
	c := fetch.New(opts, load...)
	t.Cleanup(func() { c.Close() })
	return c
}

// Credentials returns the credentials in creds, one per attempt, and then ErrAuth. A credential
// without a user gets the user of the challenge.
func Credentials(creds ...fetch.Credential) fetch.Credentials {
	return fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
		if ch.Attempt > len(creds) {
			return fetch.Credential{}, fetch.ErrAuth
		}
		cred := creds[ch.Attempt-1]
		cred.User = cmp.Or(cred.User, ch.User)
		return cred, nil
	})
}

// Read reads and closes the body of a response. It accepts the results of a request and returns err
// if it is not nil. If reading fails, it returns the bytes read and the error.
func Read(resp *fetch.Response, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// Do performs a request and reads the body. The response is nil if the request failed.
func Do(t testing.TB, c *fetch.Client, req *fetch.Request) (string, *fetch.Response, error) {
	resp, err := c.Do(t.Context(), req)
	body, err := Read(resp, err)
	return body, resp, err
}

// Get returns the body of a URL.
func Get(t testing.TB, c *fetch.Client, rawURL string) (string, error) {
	return Read(c.Get(t.Context(), rawURL))
}

// MustGet returns the body of a URL and ends the test on an error.
func MustGet(t testing.TB, c *fetch.Client, rawURL string) string {
	t.Helper()
	body, err := Get(t, c, rawURL)
	if err != nil {
		t.Fatalf("%s: %v", rawURL, err)
	}
	return body
}

// Gets reports an error unless the body of the URL is want.
func Gets(t testing.TB, c *fetch.Client, rawURL, want string) {
	t.Helper()
	if got, err := Get(t, c, rawURL); got != want || err != nil {
		t.Errorf("%s: %.1000q, error %v, want %.1000q", rawURL, got, err, want)
	}
}

// Fails reports an error unless getting the URL fails with an error of class code.
func Fails(t testing.TB, c *fetch.Client, rawURL string, code fetch.Code) {
	t.Helper()
	if got, err := Get(t, c, rawURL); err == nil || fetch.CodeOf(err) != code {
		t.Errorf("%s: %.1000q, error %v, want one of class %q", rawURL, got, err, code)
	}
}

// List returns the entries of a listing. If it fails, it returns the entries before the error.
func List(t testing.TB, c *fetch.Client, rawURL string) ([]fetch.Entry, error) {
	var entries []fetch.Entry
	for e, err := range c.List(t.Context(), rawURL) {
		if err != nil {
			return entries, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// MustList returns the entries of a listing and ends the test on an error.
func MustList(t testing.TB, c *fetch.Client, rawURL string) []fetch.Entry {
	t.Helper()
	entries, err := List(t, c, rawURL)
	if err != nil {
		t.Fatalf("%s: %v", rawURL, err)
	}
	return entries
}
