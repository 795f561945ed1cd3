package guide

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"net/textproto"
	"strings"
	"sync/atomic"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/cookies"
	"github.com/urlget/urlget/fetch/middleware"
	"github.com/urlget/urlget/fetch/netrc"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/ftp"
	"github.com/urlget/urlget/protocols/http"
)

func withLogins(file string, ask func(host string) (user, password string)) *fetch.Client {
	prompt := fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
		if ch.Foreign {
			return fetch.Credential{}, fetch.ErrAuth // the URL is from another server, not from the user
		}
		user, password := ask(ch.URL.Host())
		return fetch.Credential{User: user, Password: password}, nil
	})
	return fetch.New(&fetch.Options{
		Credentials: fetch.ChainCredentials(netrc.New(file), prompt),
	}, protocols.All)
}

func post(ctx context.Context, c *fetch.Client, u uri.URI, text string) ([]byte, error) {
	resp, err := c.Do(ctx, &fetch.Request{
		URL:    u,
		Method: "POST", // without it, a request with a body is a POST, too
		Header: textproto.MIMEHeader{
			"Content-Type":  {"application/json"},
			"Authorization": {"Bearer token"},
		},
		GetBody:       func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil },
		ContentLength: int64(len(text)),
	})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(io.LimitReader(resp.Body, 1<<20))
}

func withCookies(file string) (c *fetch.Client, save func() error, err error) {
	jar := cookies.New()
	if err := jar.Load(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	c = fetch.New(nil, http.With(http.Options{Jar: jar}))
	return c, func() error { return jar.Save(file, false) }, nil // without session cookies
}

func trusting(authorities []byte, own ...tls.Certificate) (*fetch.Client, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authorities) {
		return nil, errors.New("no certificate")
	}
	return fetch.New(&fetch.Options{
		TLS: &tls.Config{RootCAs: roots, Certificates: own, MinVersion: tls.VersionTLS12},
	}, protocols.All), nil
}

func through(proxy string) (*fetch.Client, error) {
	p, err := uri.Parse(proxy)
	if err != nil {
		return nil, err
	}
	return fetch.New(&fetch.Options{
		Proxy:    func(uri.URI) (uri.URI, error) { return p, nil },
		Timeouts: fetch.Timeouts{Connect: 5 * time.Second},
	}, protocols.All), nil
}

func careful() *fetch.Client {
	return fetch.New(&fetch.Options{Policy: &fetch.Policy{
		MaxSize: 100 << 20,
		CheckURL: func(u, from uri.URI) error {
			if strings.HasSuffix(u.Host(), ".intranet.example") {
				return errors.New("no servers of our own")
			}
			return nil
		},
	}}, protocols.Without("file", "afs", "nfs"))
}

func untrusting() *fetch.Client {
	return fetch.New(fetch.Untrusted(), http.Load)
}

func small(load ...fetch.Loader) *fetch.Client {
	return fetch.New(&fetch.Options{
		Middleware: []fetch.Middleware{middleware.PerHost(2), middleware.RateLimit(1 << 20)},
	}, append(load, ftp.Load, http.With(http.Options{Compressed: true}))...)
}

func timed(done func(u uri.URI, took time.Duration)) fetch.Middleware {
	return func(next fetch.Driver) fetch.Driver {
		return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			begin := time.Now()
			resp, err := next.Open(ctx, req)
			if err != nil {
				return nil, err
			}
			resp.Body = fetch.OnClose(resp.Body, func() { done(req.URL, time.Since(begin)) })
			return resp, nil
		})
	}
}

func traffic(sent, received *atomic.Int64) fetch.Recorder {
	x := &fetch.Recording{
		Sent:     func(_ int, p []byte) { sent.Add(int64(len(p))) },
		Received: func(_ int, p []byte) { received.Add(int64(len(p))) },
	}
	return fetch.RecorderFunc(func(context.Context, *fetch.Request) *fetch.Recording { return x })
}
