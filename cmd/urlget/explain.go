package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/internal/render"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

func runExplain(p *program, cmd *cobra.Command, args []string) error {
	ctx, b, err := p.open(cmd, args, settings{offline: true})
	if err != nil {
		return err
	}
	x := &explainer{p.opts, p.net, b.jobs.client, p.rep.std.out, b.source.args, b.template}
	return b.run(ctx, func(_ context.Context, t *task) outcome { return failed(x.explain(t.Job)) })
}

// An explainer prints the plan for a URL. Nothing is sent.
type explainer struct {
	opts     *flags.Options
	net      *network
	client   *fetch.Client
	out      io.Writer
	args     []string
	template *template
}

// An explanation is the plan that explain prints for a URL.
type explanation struct {
	eventHead
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
	Upgraded    string `json:"upgraded,omitempty"`
	Gateway     string `json:"gateway,omitempty"`
	Proxy       string `json:"proxy,omitempty"`
	Relayed     bool   `json:"relayed,omitempty"` // the proxy retrieves the URL itself
	Address     string `json:"address,omitempty"`
	Credentials string `json:"credentials,omitempty"`
}

func (x *explainer) explain(j *job.Job) error {
	x.net.logins.target = j.URL
	req, err := j.Request()
	if err != nil {
		return err
	}
	req.Op = fetch.OpGet // as the default command does
	if s, _ := x.client.Scheme(j.URL.Scheme()); s.State() == "session" {
		req.Op = fetch.OpDial
	}
	plan, err := x.client.Explain(req)
	if plan == nil {
		return err
	}
	target := *req
	if !plan.Gateway.IsZero() {
		target.URL = plan.Gateway
	}
	if full := x.net.withFields(&target); full != &target { // as the middleware does, which does not run here
		req.Header = full.Header
		if plan, err = x.client.Explain(req); plan == nil {
			return err
		}
	}
	e := x.describe(plan, req)
	if x.opts.Tree.On() && plan.Scheme.Driver != nil {
		if err := x.explainTree(&e, j.URL); err != nil {
			return err
		}
	}
	if x.opts.Report.JSON {
		if err := json.NewEncoder(x.out).Encode(e); err != nil {
			return failure.File(err)
		}
	} else if err := e.text(x.out); err != nil {
		return failure.File(err)
	}
	if plan.Refused != nil {
		return plan.Refused
	}
	return err
}

func (x *explainer) describe(plan *fetch.Explanation, req *fetch.Request) explanation {
	u, path := plan.URL, ""
	if shown, err := uri.Parse(u.Redacted()); err == nil {
		path = shown.Path() // in http:joe:password@h, it has the login
	}
	user, _ := u.User()
	query, _ := u.Query()
	fragment, _ := u.Fragment()
	e := explanation{eventHead: newEventHead("explained", u.Redacted()),
		urlParts: urlParts{u.Scheme(), user, u.Host(), u.Port(0), path, query, fragment},
		request: request{Driver: plan.Scheme.Name,
			Upgraded: plan.Upgraded.Redacted(), Gateway: plan.Gateway.Redacted(),
			Proxy: plan.Proxy.Redacted(), Relayed: plan.ForwardProxy,
			Address: plan.Address, Credentials: plan.Credentials},
		Policy: "allowed", Steps: plan.Steps, Config: x.net.config.Describe(u),
		Insecure: x.opts.Trust.Insecure}
	if plan.Refused != nil {
		e.Policy = render.ErrorText(plan.Refused)
	}
	if plan.Scheme.Driver != nil {
		e.Operation = req.Op.String()
		if req.Op == fetch.OpGet && (plan.Scheme.State() != "names_only" || !plan.Gateway.IsZero()) {
			if !x.opts.Tree.On() {
				e.Member = explainMember(u)
			}
			var file bool
			if e.Output, file = x.outputName(plan); file && !x.opts.Tree.On() {
				e.Existing = existingFileAction(x.opts.Exists(), e.Output)
			}
		}
	}
	return e
}

// outputName returns where a document would be saved, and whether that is a file. The server may
// suggest another name, and a listing is printed instead.
func (x *explainer) outputName(plan *fetch.Explanation) (name string, file bool) {
	out, err := resolveOutput(x.opts)
	switch {
	case err != nil:
		return "", false
	case out.stream == "-":
		return "standard output", false
	case out.stream != "":
		return out.stream, false
	case out.name == "" && plan.Expected != nil && plan.Expected.Form != nil:
		return "none: the URL is a form that must be filled in", false
	case out.name == "" && flags.IsQuery(plan.URL.Scheme()) && x.opts.Output.Dir == "":
		return "standard output", false
	case out.name == "" && plan.Expected != nil && plan.Expected.Kind == fetch.KindListing:
		if strings.Contains(plan.URL.Path(), "*") {
			return filepath.Join(out.dir, "*"), false
		}
		return "standard output, as a listing", false
	case out.name == "":
		out.name = download.Name(plan.URL, plan.Expected)
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
		{Name: "upgraded", Value: e.Upgraded},
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

// existingFileAction describes the handling of an existing file or partial file with that name. It
// returns "" if there is none.
func existingFileAction(exists download.Exists, name string) string {
	info, err := os.Stat(name)
	part, partErr := os.Stat(download.PartialName(name))
	switch {
	case err == nil && !info.Mode().IsRegular():
		return ""
	case err == nil && exists == download.Skip:
		return name + " exists and is kept"
	case err == nil && exists == download.Newer:
		return name + " exists and is replaced if the server has a newer version"
	case err == nil && exists == download.Overwrite:
		return name + " exists and is replaced"
	case err == nil && exists == download.NewName:
		return name + " exists and is kept: another name is chosen"
	case exists != download.Resume:
		return ""
	case partErr == nil && part.Mode().IsRegular():
		return fmt.Sprintf("%s is resumed after %s if its content matches the resource",
			download.PartialName(name), sizeText(part.Size()))
	case err == nil:
		return fmt.Sprintf("%s is resumed after %s if its content matches the resource, and otherwise kept",
			name, sizeText(info.Size()))
	}
	return "no partial download to resume"
}
