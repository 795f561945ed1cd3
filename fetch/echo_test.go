package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A server may repeat a secret at any time. It appears neither in an error, at any depth, nor in a reply.
func TestRepeatedSecretsAreNotInErrors(t *testing.T) {
	t.Parallel()
	errCause := errors.New("a cause")
	opts := &fetch.Options{Credentials: fetch.CredentialsFunc(func(context.Context, fetch.Challenge) (fetch.Credential, error) {
		return fetch.Credential{User: "joe", Password: "s3cret", Account: "4cc0unt"}, nil
	})}
	for name, tt := range map[string]struct {
		url    string
		header textproto.MIMEHeader
		said   string
	}{
		"of the URL":       {"x-echo://joe:s3cr%65t@h/", nil, "s3cret"},
		"of a source":      {"x-echo://h/", nil, "s3cret"},
		"an account":       {"x-echo://h/", nil, "4cc0unt"},
		"in basic":         {"x-echo://joe:s3cret@h/", nil, "am9lOnMzY3JldA=="},
		"in plain":         {"x-echo://h/", nil, "AGpvZQBzM2NyZXQ="},
		"of a field":       {"x-echo://h/", textproto.MIMEHeader{"Private-Token": {"t0ken"}}, "t0ken"},
		"of authorization": {"x-echo://h/", textproto.MIMEHeader{"Authorization": {"Bearer t0ken"}}, "t0ken"},
	} {
		said := "got " + tt.said + "."
		for stage, fails := range map[string]func() (*fetch.Response, error){
			"reply": func() (*fetch.Response, error) {
				return nil, &fetch.Error{Code: fetch.ErrRefused, Reply: fetch.Reply{Code: 500, Text: said}, Err: errCause}
			},
			"cause":  func() (*fetch.Response, error) { return nil, fmt.Errorf("malformed %q: %w", said, errCause) },
			"nested": func() (*fetch.Response, error) { return nil, fetch.ErrServer.Errorf("%s: %w", said, errCause) },
			"body": func() (*fetch.Response, error) {
				return body(iotest.ErrReader(fmt.Errorf("%s %w", said, errCause)), ""), nil
			},
			"response": func() (*fetch.Response, error) { return body(strings.NewReader("content"), said), nil },
		} {
			c := fetch.New(opts, func(env fetch.Env, reg *fetch.Registry) {
				reg.Register(fetch.Scheme{Name: "x-echo", Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
					func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
						if _, err := env.Credential(ctx, fetch.Challenge{URL: req.URL}); err != nil {
							t.Error(err)
						}
						return fails()
					})})
			})
			resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(tt.url), Header: tt.header})
			if stage == "response" {
				if err != nil || resp.Reply.Text != "got ****." {
					t.Errorf("%s, %s: %v, %v", name, stage, resp, err)
				}
				continue
			}
			if err == nil {
				_, err = io.ReadAll(resp.Body)
			}
			if !errors.Is(err, errCause) || !strings.Contains(err.Error(), "got ****.") {
				t.Errorf("%s, %s: %v, want got ****.", name, stage, err)
			}
			for ; err != nil; err = unwrapped(err) {
				if e, ok := err.(*fetch.Error); strings.Contains(err.Error(), tt.said) || ok && strings.Contains(e.Reply.Text, tt.said) {
					t.Errorf("%s, %s: %v has the secret", name, stage, err)
				}
			}
		}
	}
}

func body(r io.Reader, said string) *fetch.Response {
	return &fetch.Response{Meta: fetch.Meta{Size: -1, Reply: fetch.Reply{Text: said}}, Body: io.NopCloser(r)}
}

func unwrapped(err error) error {
	if e, ok := err.(*fetch.Error); ok {
		return e.Err
	}
	return errors.Unwrap(err)
}
