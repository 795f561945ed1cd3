package main

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/render"
	"github.com/urlget/urlget/fetch/uri"
)

// An explanation is what explain prints about a URL.
type explanation struct {
	Event       string   `json:"event"`
	URL         string   `json:"url"`
	Time        string   `json:"time"`
	Scheme      string   `json:"scheme"`
	User        string   `json:"user,omitempty"`
	Host        string   `json:"host,omitempty"`
	Port        uint16   `json:"port,omitempty"`
	Path        string   `json:"path,omitempty"`
	Query       string   `json:"query,omitempty"`
	Fragment    string   `json:"fragment,omitempty"`
	Driver      string   `json:"driver,omitempty"`
	Operation   string   `json:"operation,omitempty"`
	Gateway     string   `json:"gateway,omitempty"`
	Proxy       string   `json:"proxy,omitempty"`
	Relayed     bool     `json:"relayed,omitempty"`
	Address     string   `json:"address,omitempty"`
	Credentials string   `json:"credentials,omitempty"`
	Policy      string   `json:"policy"`
	Insecure    bool     `json:"insecure,omitempty"` // certificates are not checked
	Output      string   `json:"output,omitempty"`
	Existing    string   `json:"existing,omitempty"` // what becomes of a file of that name
	Steps       []string `json:"steps,omitempty"`
	Rules       []string `json:"rules,omitempty"`  // of a tree
	Config      []string `json:"config,omitempty"` // the lines of the configuration file that count
}

// explain prints what would be done with a URL. Nothing is sent.
func (g *getter) explain(_ context.Context, t *task) outcome { return failed(g.explainURL(t.Job)) }

func (g *getter) explainURL(j *job.Job) error {
	g.about = j.URL
	req, err := j.Request()
	if err != nil {
		return err
	}
	req.Op = g.operation(j.URL)
	x, err := g.client.Explain(req)
	if x == nil {
		return err
	}
	target := *req
	if !x.Gateway.IsZero() {
		target.URL = x.Gateway
	}
	if full := g.withFields(&target); full != &target { // as the middleware has it, which nothing reaches here
		req.Header = full.Header
		if x, err = g.client.Explain(req); x == nil {
			return err
		}
	}
	e := g.describe(x, req)
	if g.opts.Tree.On() && x.Scheme.Driver != nil {
		if err := g.explainTree(&e, j.URL); err != nil {
			return err
		}
	}
	if g.opts.Report.JSON {
		if err := json.NewEncoder(g.std.out).Encode(e); err != nil {
			return failure.File(err)
		}
	} else if err := e.text(g.std.out); err != nil {
		return failure.File(err)
	}
	if x.Refused != nil {
		return x.Refused
	}
	return err
}

// operation returns the operation that the default command would request for u.
func (g *getter) operation(u uri.URI) fetch.Op {
	if s, _ := g.client.Scheme(u.Scheme()); s.State() == "session" {
		return fetch.OpDial
	}
	return fetch.OpGet
}

func (g *getter) describe(x *fetch.Explanation, req *fetch.Request) explanation {
	u := x.URL
	user, _ := u.User()
	query, _ := u.Query()
	fragment, _ := u.Fragment()
	e := explanation{Event: "explained", URL: u.Redacted(), Time: time.Now().UTC().Format(time.RFC3339Nano), Scheme: u.Scheme(), User: user, Host: u.Host(), Port: u.Port(0),
		Path: u.Path(), Query: query, Fragment: fragment, Driver: x.Scheme.Name,
		Gateway: x.Gateway.Redacted(), Proxy: x.Proxy.Redacted(), Relayed: x.ForwardProxy, Address: x.Address,
		Credentials: x.Credentials, Policy: "allowed", Steps: x.Steps, Config: g.config.Describe(u), Insecure: g.opts.Trust.Insecure}
	if x.Refused != nil {
		e.Policy = render.Message(x.Refused)
	}
	if x.Scheme.Driver != nil {
		e.Operation = req.Op.String()
		if req.Op == fetch.OpGet && (x.Scheme.State() != driver.StateNamesOnly || !x.Gateway.IsZero()) {
			var file bool
			if e.Output, file = g.outputName(x); file && !g.opts.Tree.On() {
				e.Existing = g.existing(e.Output)
			}
		}
	}
	return e
}

// outputName returns where a document would be saved, and whether that is a file. The server may
// suggest another name, and a listing would be printed.
func (g *getter) outputName(x *fetch.Explanation) (name string, file bool) {
	out, err := resolveOutput(g.opts)
	switch {
	case err != nil:
		return "", false
	case out.stream == "-":
		return "standard output", false
	case out.stream != "":
		return out.stream, false
	case out.name == "" && x.Expected != nil && x.Expected.Form != nil:
		return "none: the URL names a form that wants answers", false
	case out.name == "" && flags.IsAnswer(x.URL.Scheme()) && g.opts.Output.Dir == "":
		return "standard output", false
	case out.name == "" && x.Expected != nil && x.Expected.Kind == fetch.KindListing:
		if strings.Contains(x.URL.Path(), "*") {
			return filepath.Join(out.dir, "*"), false
		}
		return "standard output, as a listing", false
	case out.name == "":
		out.name = download.Name(x.URL, x.Expected)
	}
	return filepath.Join(out.dir, out.name), true
}

// text writes e for people: the URL, followed by an aligned line for each fact.
func (e *explanation) text(w io.Writer) error {
	port, proxy := "", e.Proxy
	if e.Port != 0 {
		port = strconv.Itoa(int(e.Port))
	}
	switch {
	case proxy == "":
	case e.Relayed:
		proxy += " (retrieves the URL itself)"
	default:
		proxy += " (tunnels)"
	}
	f := render.Facts{
		{Name: "scheme", Value: e.Scheme},
		{Name: "user", Value: e.User},
		{Name: "host", Value: e.Host},
		{Name: "port", Value: port},
		{Name: "path", Value: e.Path},
		{Name: "query", Value: e.Query},
		{Name: "fragment", Value: e.Fragment},
		{Name: "driver", Value: cmp.Or(e.Driver, "none")},
		{Name: "operation", Value: e.Operation},
		{Name: "gateway", Value: e.Gateway},
		{Name: "proxy", Value: proxy},
		{Name: "address", Value: e.Address},
		{Name: "credentials", Value: e.Credentials},
		{Name: "policy", Value: e.Policy},
		{Name: "output", Value: e.Output},
		{Name: "existing", Value: e.Existing},
	}
	if e.Insecure {
		f = append(f, render.Fact{Name: "insecure", Value: "certificates are not checked"})
	}
	for _, line := range e.Config {
		f = append(f, render.Fact{Name: "config", Value: line})
	}
	for _, rule := range e.Rules {
		f = append(f, render.Fact{Name: "tree", Value: rule})
	}
	for i, step := range e.Steps {
		f = append(f, render.Fact{Name: "step " + strconv.Itoa(i+1), Value: step})
	}
	if _, err := io.WriteString(w, fetch.Printable(e.URL)+"\n"); err != nil {
		return err
	}
	return f.Text(w)
}
