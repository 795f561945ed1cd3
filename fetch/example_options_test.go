package fetch_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"sync/atomic"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A Request has more options than a URL, such as the range to retrieve.
func ExampleClient_Do() {
	s := newShelf(1000)
	copy(s.data[100:], "here")
	c := s.client()
	defer c.Close()
	first, err := c.Stat(context.Background(), &fetch.Request{URL: uri.MustParse("x-shelf://h/doc")})
	if err != nil {
		log.Fatal(err)
	}
	resp, err := c.Do(context.Background(), &fetch.Request{
		URL:       uri.MustParse("x-shelf://h/doc"),
		Range:     fetch.Range{Offset: 100, Length: 4},
		IfChanged: first.Validator, // if the resource has changed, the whole is returned
	})
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	part, err := io.ReadAll(resp.Body)
	fmt.Printf("%s, %d bytes of %d, %v\n", part, resp.Size, resp.Total, err)
	// Output:
	// here, 4 bytes of 1000, <nil>
}

// greeter registers a scheme for sessions that begin with a greeting.
func greeter(_ fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{Name: "x-greet", Ops: []fetch.Op{fetch.OpDial}, Driver: fetch.DriverFunc(
		func(context.Context, *fetch.Request) (*fetch.Response, error) {
			near, far := net.Pipe()
			go func() {
				defer far.Close()
				name, _ := bufio.NewReader(far).ReadString('\n')
				fmt.Fprintf(far, "Hello, %s", name)
			}()
			return &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindSession, Size: -1}, Body: near}, nil
		})})
}

// With protocols.All, the URL could be a telnet URL.
func ExampleClient_Dial() {
	c := fetch.New(nil, greeter)
	defer c.Close()
	session, err := c.Dial(context.Background(), "x-greet://joe@host/")
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	fmt.Fprintf(session, "%s\n", session.User)
	answer, err := bufio.NewReader(session).ReadString('\n')
	fmt.Print(answer, err)
	// Output:
	// Hello, joe
	// <nil>
}

// members registers a scheme that requires a login.
func members(env fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{Name: "x-club", Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
		func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			ch := fetch.Challenge{URL: req.URL, Mechanism: "basic", Realm: "members"}
			for ch.Attempt = 1; ; ch.Attempt++ {
				cred, err := env.Credential(ctx, ch)
				if err != nil {
					return nil, err
				}
				if cred.Password == "sesame" {
					return echo(ctx, req)
				}
			}
		})})
}

// A client requests credentials when the server requires them. If the server rejects them, the chain
// asks the next provider.
func ExampleCredentials() {
	remembered := fetch.CredentialsFunc(func(context.Context, fetch.Challenge) (fetch.Credential, error) {
		return fetch.Credential{User: "joe", Password: "forgotten"}, nil
	})
	prompt := fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
		if ch.Attempt > 1 {
			return fetch.Credential{}, fetch.ErrAuth
		}
		fmt.Println("password for", ch.Realm)
		return fetch.Credential{User: "joe", Password: "sesame"}, nil
	})
	c := fetch.New(&fetch.Options{Credentials: fetch.ChainCredentials(remembered, prompt)}, members)
	defer c.Close()
	text, err := c.ReadAll(context.Background(), "x-club://h/inside", 0)
	fmt.Printf("%s %v\n", text, err)
	// Output:
	// password for members
	// /inside <nil>
}

// A middleware wraps every exchange. This one refuses URLs that have been requested before.
func ExampleMiddleware() {
	seen := map[uri.URI]bool{}
	once := func(next fetch.Driver) fetch.Driver {
		return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			if seen[req.URL] {
				return nil, &fetch.Error{Code: fetch.ErrPolicy, Err: errors.New("once is enough")}
			}
			seen[req.URL] = true
			return next.Open(ctx, req)
		})
	}
	c := fetch.New(&fetch.Options{Middleware: []fetch.Middleware{once}}, fetch.Use("x-echo", fetch.DriverFunc(echo)))
	defer c.Close()
	for range 2 {
		text, err := c.ReadAll(context.Background(), "x-echo:hello", 0)
		fmt.Printf("%s %v\n", text, err)
	}
	// Output:
	// hello <nil>
	//  get x-echo:hello: refused by policy: once is enough
}

// This recorder counts exchanges, bytes of content and failures.
func ExampleRecorder() {
	var exchanges, bytes, failures atomic.Int64
	recorder := fetch.RecorderFunc(func(context.Context, *fetch.Request) *fetch.Recording {
		exchanges.Add(1)
		return &fetch.Recording{
			Content: func(p []byte) { bytes.Add(int64(len(p))) },
			End: func(err error) {
				if err != nil {
					failures.Add(1)
				}
			},
		}
	})
	c := fetch.New(&fetch.Options{Recorder: recorder}, fetch.Use("x-echo", fetch.DriverFunc(echo)))
	defer c.Close()
	for _, rawURL := range []string{"x-echo:hello", "x-echo:a%0Ab"} {
		c.ReadAll(context.Background(), rawURL, 0)
	}
	fmt.Println(exchanges.Load(), bytes.Load(), failures.Load())
	// Output:
	// 2 5 1
}

// An Error has fields for programs and a text for people.
func ExampleError() {
	busy := fetch.DriverFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) {
		return nil, &fetch.Error{Code: fetch.ErrBusy, Retry: true, Reply: fetch.Reply{Code: 421, Text: "Too many users\r\n"}}
	})
	c := fetch.New(nil, fetch.Use("x-busy", busy))
	defer c.Close()
	_, err := c.Get(context.Background(), "x-busy://joe:secret@h/")
	var e *fetch.Error
	if errors.As(err, &e) {
		fmt.Println(e.Code == fetch.ErrBusy, e.Retry, e.Reply.Code)
	}
	fmt.Println(err)
	// Output:
	// true true 421
	// get x-busy://joe:xxxxx@h/: server busy (421 Too many users)
}
