// Customscheme adds a scheme to those that are built in. "x-echo:TEXT"
// answers with the text, which it repeats for "x-echo:TEXT?times=3":
//
//	go run ./examples/customscheme 'x-echo:hello%20?times=3'
//
// All that the client does for other schemes it does for this one: rules,
// limits, redirects, errors of one kind.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: customscheme URL")
	}
	if err := get(context.Background(), os.Stdout, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func get(ctx context.Context, w io.Writer, rawURL string) error {
	c := fetch.New(nil, protocols.All, load)
	defer c.Close()
	resp, err := c.Get(ctx, rawURL)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(w, resp.Body)
	return err
}

// load registers the scheme. A driver that speaks to servers would keep env,
// which is its way to them.
func load(_ *fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{
		Name:    "x-echo",
		Ops:     []fetch.Op{fetch.OpGet},
		Summary: "the text of the URL itself",
		Driver:  fetch.DriverFunc(open),
	})
}

// open answers one request.
func open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	if req.Op != fetch.OpGet {
		return nil, fmt.Errorf("x-echo: %w", errors.ErrUnsupported)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	// The octets go to no server, so there is no need to refuse any of them. What becomes a command
	// must pass uri.Unescape.
	text := uri.UnescapeRaw(req.URL.Path())
	if query, ok := req.URL.Query(); ok {
		value, _ := strings.CutPrefix(query, "times=")
		times, err := strconv.Atoi(value)
		if err != nil || times < 0 || times > 1000 {
			return nil, &fetch.Error{Code: fetch.ErrURL, Err: errors.New("times is not a number up to 1000"), Hint: "write ?times=3"}
		}
		text = strings.Repeat(text, times)
	}
	return &fetch.Response{
		Meta: fetch.Meta{ContentType: "text/plain; charset=utf-8", Size: int64(len(text))},
		Body: io.NopCloser(strings.NewReader(text)),
	}, nil
}
