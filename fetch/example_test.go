package fetch_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A driver can be a single function. The body of an x-echo URL is its path.
func echo(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
	if req.Op != fetch.OpGet {
		return nil, fmt.Errorf("x-echo: %w", errors.ErrUnsupported)
	}
	text, err := uri.Unescape(req.URL.Path())
	if err != nil {
		return nil, err
	}
	return &fetch.Response{
		Meta: fetch.Meta{ContentType: "text/plain", Size: int64(len(text))},
		Body: io.NopCloser(strings.NewReader(text)),
	}, nil
}

// Most programs pass protocols.All instead of their own driver.
func ExampleClient_Get() {
	c := fetch.New(nil, fetch.Use("x-echo", fetch.DriverFunc(echo)))
	defer c.Close()
	resp, err := c.Get(context.Background(), "x-echo:hello%20there")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	fmt.Println(resp.ContentType, resp.Size)
	io.Copy(os.Stdout, resp.Body)
	// Output:
	// text/plain 11
	// hello there
}

func ExampleUse() {
	c := fetch.New(nil, fetch.Use("x-echo", fetch.DriverFunc(echo)))
	defer c.Close()
	_, err := c.Get(context.Background(), "x-echo:a%0D%0Ab")
	fmt.Println(errors.Is(err, fetch.ErrURL))
	_, err = c.Get(context.Background(), "x-other:a")
	fmt.Println(err)
	// Output:
	// true
	// get x-other:a: no driver for scheme: "x-other" is not registered
}

// menu is a driver that returns listings.
func menu(_ fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{Name: "x-menu", Ops: []fetch.Op{fetch.OpList}, Driver: fetch.DriverFunc(
		func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
			text := "soup\nfish\n"
			var entries iter.Seq2[fetch.Entry, error] = func(yield func(fetch.Entry, error) bool) {
				for name := range strings.FieldsSeq(text) {
					if !yield(fetch.Entry{Name: name, URL: req.URL.Resolve(uri.MustParse(name)), Size: -1}, nil) {
						return
					}
				}
			}
			return &fetch.Response{
				Meta:  fetch.Meta{Kind: fetch.KindListing, ContentType: "text/plain", Size: int64(len(text))},
				Body:  io.NopCloser(strings.NewReader(text)),
				Parse: func(io.Reader) iter.Seq2[fetch.Entry, error] { return entries },
			}, nil
		})})
}

func ExampleClient_List() {
	c := fetch.New(nil, menu)
	defer c.Close()
	for entry, err := range c.List(context.Background(), "x-menu://kitchen/today/") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(entry.Name, entry.URL)
	}
	// Output:
	// soup x-menu://kitchen/today/soup
	// fish x-menu://kitchen/today/fish
}

// Options.DialContext replaces the dialer. Everything else works as usual.
func ExampleOptions_dialContext() {
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		io.ReadAtLeast(far, make([]byte, 64), 3)
		io.WriteString(far, "it came through the tunnel\n")
	}()
	c := fetch.New(&fetch.Options{
		DialContext: func(_ context.Context, network, addr string) (net.Conn, error) {
			fmt.Println("dial", network, addr)
			return near, nil
		},
	}, loadLine)
	defer c.Close()
	resp, err := c.Get(context.Background(), "x-line://localhost/p")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	io.Copy(os.Stdout, resp.Body)
	// Output:
	// dial tcp localhost:7
	// it came through the tunnel
}

// A Policy can be stricter than the default. Errors are distinguished by their class.
func ExamplePolicy() {
	c := fetch.New(&fetch.Options{Policy: &fetch.Policy{
		MaxSize: 1 << 20,
		CheckURL: func(u, from uri.URI) error {
			if u.Scheme() != "x-echo" {
				return errors.New("only x-echo here")
			}
			return nil
		},
	}}, fetch.Use("x-echo", fetch.DriverFunc(echo)), menu)
	defer c.Close()
	_, err := c.Get(context.Background(), "x-menu://kitchen/")
	fmt.Println(err)
	fmt.Println(errors.Is(err, fetch.ErrPolicy), errors.Is(err, fs.ErrNotExist))
	// Output:
	// get x-menu://kitchen/: refused by policy: only x-echo here
	// true false
}

// logRecorder returns a Recorder that logs each exchange in one line.
func logRecorder(logger *slog.Logger) fetch.Recorder {
	return fetch.RecorderFunc(func(ctx context.Context, req *fetch.Request) *fetch.Recording {
		start := time.Now()
		var mu sync.Mutex // an exchange may have several connections
		attrs := []slog.Attr{slog.String("url", req.URL.Redacted())}
		add := func(attr slog.Attr) {
			mu.Lock()
			defer mu.Unlock()
			attrs = append(attrs, attr)
		}
		return &fetch.Recording{
			Peer: func(conn int, addr net.Addr, state *tls.ConnectionState) {
				if state != nil {
					add(slog.String("tls", tls.VersionName(state.Version)))
				} else if conn == 1 {
					add(slog.String("peer", addr.String()))
				}
			},
			Size: func(n int64) { add(slog.Int64("bytes", n)) },
			End: func(err error) {
				level := slog.LevelInfo
				if err != nil && !errors.Is(err, net.ErrClosed) { // the caller closed the body early
					level = slog.LevelWarn
					add(slog.String("class", string(fetch.CodeOf(err))))
				}
				add(slog.Duration("took", time.Since(start)))
				logger.LogAttrs(ctx, level, "exchange", attrs...)
			},
		}
	})
}

// Each exchange is one log record with the URL, the peer, the size, the duration and the error.
func ExampleRecorder_slog() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, attr slog.Attr) slog.Attr {
			if attr.Key == "took" || attr.Key == slog.TimeKey {
				return slog.Attr{} // they differ between runs
			}
			return attr
		},
	}))
	c := fetch.New(&fetch.Options{
		Recorder: logRecorder(logger),
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				defer far.Close()
				far.Read(make([]byte, 64))
				io.WriteString(far, "hello")
			}()
			return near, nil
		},
	}, loadLine)
	defer c.Close()
	for _, url := range []string{"x-line://localhost/p", "x-other://localhost/"} {
		if resp, err := c.Get(context.Background(), url); err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	// Output:
	// level=INFO msg=exchange url=x-line://localhost/p peer=pipe bytes=5
	// level=WARN msg=exchange url=x-other://localhost/ bytes=0 class=no_driver
}
