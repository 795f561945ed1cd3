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

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/internal/render"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

// explainCommand returns the command that shows the plan for URLs.
func (a *app) explainCommand() *cobra.Command {
	return a.withFlags(flags.Explain, &cobra.Command{
		Use:   "explain [flags] URL...",
		Short: "Show what would be done, without sending anything",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runURLs(cmd, args, action{offline: true, do: a.explain})
		},
	})
}

// An explanation is the plan that explain prints for a URL.
type explanation struct {
	Event string `json:"event"`
	URL   string `json:"url"`
	Time  string `json:"time"`
	urlParts
	request
	Policy   string   `json:"policy"`
	Insecure bool     `json:"insecure,omitempty"` // certificates are not verified
	Member   string   `json:"member,omitempty"`   // of an archive
	Output   string   `json:"output,omitempty"`
	Existing string   `json:"existing,omitempty"` // handling of an existing file
	Steps    []string `json:"steps,omitempty"`
	Rules    []string `json:"rules,omitempty"`  // of a tree
	Config   []string `json:"config,omitempty"` // lines of the configuration file that apply
}

// urlParts are the parts of the URL.
type urlParts struct {
	Scheme   string `json:"scheme"`
	User     string `json:"user,omitempty"`
	Host     string `json:"host,omitempty"`
	Port     uint16 `json:"port,omitempty"`
	Path     string `json:"path,omitempty"`
	Query    string `json:"query,omitempty"`
	Fragment string `json:"fragment,omitempty"`
}

// A request describes the request that would be sent, and its proxy.
type request struct {
	Driver      string `json:"driver,omitempty"`
	Operation   string `json:"operation,omitempty"`
	Gateway     string `json:"gateway,omitempty"`
	Proxy       string `json:"proxy,omitempty"`
	Relayed     bool   `json:"relayed,omitempty"` // the proxy retrieves the URL itself
	Address     string `json:"address,omitempty"`
	Credentials string `json:"credentials,omitempty"`
}

// explain prints the plan for a URL. Nothing is sent.
func (a *app) explain(_ context.Context, t *task) outcome { return failed(a.explainURL(t.Job)) }

func (a *app) explainURL(j *job.Job) error {
	a.target = j.URL
	req, err := j.Request()
	if err != nil {
		return err
	}
	req.Op = a.operation(j.URL)
	x, err := a.client.Explain(req)
	if x == nil {
		return err
	}
	target := *req
	if !x.Gateway.IsZero() {
		target.URL = x.Gateway
	}
	if full := a.withFields(&target); full != &target { // as the middleware does, which does not run here
		req.Header = full.Header
		if x, err = a.client.Explain(req); x == nil {
			return err
		}
	}
	e := a.describe(x, req)
	if a.opts.Tree.On() && x.Scheme.Driver != nil {
		if err := a.explainTree(&e, j.URL); err != nil {
			return err
		}
	}
	if a.opts.Report.JSON {
		if err := json.NewEncoder(a.std.out).Encode(e); err != nil {
			return failure.File(err)
		}
	} else if err := e.text(a.std.out); err != nil {
		return failure.File(err)
	}
	if x.Refused != nil {
		return x.Refused
	}
	return err
}

// operation returns the operation that the default command would request for u.
func (a *app) operation(u uri.URI) fetch.Op {
	if s, _ := a.client.Scheme(u.Scheme()); s.State() == "session" {
		return fetch.OpDial
	}
	return fetch.OpGet
}

func (a *app) describe(x *fetch.Explanation, req *fetch.Request) explanation {
	u := x.URL
	user, _ := u.User()
	query, _ := u.Query()
	fragment, _ := u.Fragment()
	e := explanation{Event: "explained", URL: u.Redacted(), Time: time.Now().UTC().Format(time.RFC3339Nano),
		urlParts: urlParts{u.Scheme(), user, u.Host(), u.Port(0), u.Path(), query, fragment},
		request: request{Driver: x.Scheme.Name, Gateway: x.Gateway.Redacted(), Proxy: x.Proxy.Redacted(), Relayed: x.ForwardProxy,
			Address: x.Address, Credentials: x.Credentials},
		Policy: "allowed", Steps: x.Steps, Config: a.config.Describe(u), Insecure: a.opts.Trust.Insecure}
	if x.Refused != nil {
		e.Policy = render.ErrorText(x.Refused)
	}
	if x.Scheme.Driver != nil {
		e.Operation = req.Op.String()
		if req.Op == fetch.OpGet && (x.Scheme.State() != "names_only" || !x.Gateway.IsZero()) {
			if !a.opts.Tree.On() {
				e.Member = explainMember(u)
			}
			var file bool
			if e.Output, file = a.outputName(x); file && !a.opts.Tree.On() {
				e.Existing = a.existingFileAction(e.Output)
			}
		}
	}
	return e
}

// outputName returns where a document would be saved, and whether that is a file. The server may
// suggest another name, and a listing is printed instead.
func (a *app) outputName(x *fetch.Explanation) (name string, file bool) {
	out, err := resolveOutput(a.opts)
	switch {
	case err != nil:
		return "", false
	case out.stream == "-":
		return "standard output", false
	case out.stream != "":
		return out.stream, false
	case out.name == "" && x.Expected != nil && x.Expected.Form != nil:
		return "none: the URL is a form that must be filled in", false
	case out.name == "" && flags.IsQuery(x.URL.Scheme()) && a.opts.Output.Dir == "":
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
		{Name: "member", Value: e.Member},
		{Name: "output", Value: e.Output},
		{Name: "existing", Value: e.Existing},
	}
	if e.Insecure {
		f = append(f, render.Fact{Name: "insecure", Value: "certificates are not verified"})
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
