// Package s3 is the driver for s3 URLs, which name the objects of Amazon S3 and of stores with the same
// API:
//
//	s3://bucket/dir/object             an object; its key is dir/object
//	s3://bucket/object?versionId=ID    a version of it
//	s3://bucket/dir/                   the objects whose keys begin with dir/
//
// Keys are percent-encoded in URLs. A slash separates directories by convention only: a key may end with
// one, and its URL is then written with %2F. A URL that ends with a slash names a listing
// (ListObjectsV2); CR, LF and NUL are not allowed.
//
// Requests are those of http and https, whose driver carries them. With an access key they are signed
// (AWS Signature Version 4); otherwise they are anonymous. The user's access keys and profiles are not
// used for foreign requests (see fetch.Env.Foreign).
//
// Content is complete when HTTP says so, and is compared with the checksum of the whole object that the
// store sends. An entity tag is compared as MD5 if it has the form of one and the store does not say
// that the object was encrypted with a key of its own (aws:kms, SSE-C).
package s3

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/internal/remotefile"
	"github.com/urlget/urlget/protocols/internal/sigv4"
)

// Options configures the driver. The zero value is the default.
type Options struct {
	// Endpoint is the http or https URL of the store. Its buckets are the first segment of the path.
	// "" means the one in the environment or, if the request is not foreign, in the user's profile; the
	// default is Amazon S3.
	Endpoint string
	// Getenv returns the variables that the AWS command line reads: AWS_ACCESS_KEY_ID,
	// AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_DEFAULT_REGION, AWS_PROFILE,
	// AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE, and HOME. Nil
	// means os.Getenv.
	Getenv func(name string) string
}

// Load registers the driver with default options.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With is like Load, with options. It requires a driver for http and https.
func With(opts Options) fetch.Loader {
	if opts.Getenv == nil {
		opts.Getenv = os.Getenv
	}
	return func(env fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{
			Name: "s3", Ops: []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList}, Ranges: true,
			Traits:  fetch.Traits{Tree: true, Logins: true, Stateless: true},
			Summary: "objects of Amazon S3 and compatible stores",
			Driver:  &opener{Options: opts, env: env, regions: make(map[string]string)},
		})
	}
}

// maxRegions limits the buckets whose region is remembered.
const maxRegions = 1024

type opener struct {
	Options
	env fetch.Env

	mu      sync.Mutex
	regions map[string]string // by endpoint and bucket, as the store names them
}

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	t, err := newTarget(req)
	if err != nil {
		return nil, err
	}
	p, err := d.place(d.env.Foreign(ctx))
	if err == nil {
		err = d.logIn(ctx, req, p)
	}
	if err != nil {
		return nil, err
	}
	x := &exchange{opener: d, target: t, place: p}
	if t.dir || req.Op == fetch.OpList {
		return x.list(ctx)
	}
	return x.object(ctx)
}

// An exchange is one request of a caller, which may take several of HTTP.
type exchange struct {
	*opener
	*target
	place *place
}

// object opens the object, or returns its metadata.
func (x *exchange) object(ctx context.Context) (*fetch.Response, error) {
	resp, err := x.send(ctx, x.req.Op, x.key, x.version)
	if err != nil {
		return nil, err
	}
	if at := x.req.IfChanged.ModTime; !resp.Range.IsZero() && x.req.IfChanged.ETag == "" && !at.IsZero() &&
		!at.Equal(resp.ModTime) {
		resp.Body.Close()
		return nil, fetch.ErrChanged.Errorf("the object was changed")
	}
	if resp.ContentType == "binary/octet-stream" { // the store's default
		resp.ContentType = fetch.TypeByName(x.key)
	}
	if sum := tagDigest(resp.Header); sum != nil && !resp.Decoded && len(resp.Digests) == 0 {
		resp.Digests = append(resp.Digests, fetch.Digest{Algorithm: "md5", Sum: sum, By: "etag"})
	}
	return resp, nil
}

// tagDigest returns the MD5 of an object, if its entity tag is one ("Checking object integrity" in the
// Amazon S3 User Guide). Tags of multipart uploads have a hyphen.
func tagDigest(h textproto.MIMEHeader) []byte {
	tag, ok := strings.CutPrefix(h.Get("ETag"), `"`)
	tag, ok2 := strings.CutSuffix(tag, `"`)
	sum, err := hex.DecodeString(tag)
	switch encryption := h.Get("X-Amz-Server-Side-Encryption"); {
	case !ok, !ok2, err != nil, len(tag) != 32, strings.ToLower(tag) != tag,
		encryption != "" && encryption != "AES256",
		h.Get("X-Amz-Server-Side-Encryption-Customer-Algorithm") != "",
		h.Get("X-Amz-Storage-Class") == "EXPRESS_ONEZONE": // its tags are arbitrary
		return nil
	}
	return sum
}

// send performs one request of HTTP for a key of the bucket. If the store names another region for the
// bucket, send uses it, once.
func (x *exchange) send(ctx context.Context, op fetch.Op, key, query string) (*fetch.Response, error) {
	region := x.region(x.place, x.bucket)
	for again := true; ; again = false {
		req, err := x.request(ctx, op, region, key, query)
		if err != nil {
			return nil, err
		}
		resp, err := x.env.Exchange(ctx, req)
		if other := regionOf(resp, err); again && other != "" && other != region && refers(resp, err) {
			if err == nil {
				resp.Body.Close()
			}
			x.env.Logger().Info("the bucket is in another region", "bucket", x.bucket, "region", other)
			region = other
			x.remember(x.place, x.bucket, region)
			continue
		}
		switch {
		case err != nil:
			return nil, x.failure(err)
		case len(resp.Location) > 0:
			resp.Body.Close()
			return nil, &fetch.Error{Code: fetch.ErrRedirect, Reply: resp.Reply,
				Err: fmt.Errorf("the store redirects to %s, which is not followed",
					resp.Location[0].Redacted())}
		}
		return resp, nil
	}
}

// refers reports whether a response refers to another region, by a redirect or by a refusal of the
// signature, which has no content for HEAD.
func refers(resp *fetch.Response, err error) bool {
	var e *fetch.Error
	switch {
	case err == nil:
		return len(resp.Location) > 0
	case !errors.As(err, &e):
		return false
	}
	return e.Reply.Code/100 == 3 && e.Code != fetch.ErrNotModified || e.Reply.Code == http.StatusBadRequest
}

// request returns the request of HTTP, signed if there is an access key.
func (x *exchange) request(
	ctx context.Context, op fetch.Op, region, key, query string,
) (*fetch.Request, error) {
	u, err := x.place.url(region, x.bucket, key, query)
	if err != nil {
		return nil, err
	}
	req := &fetch.Request{URL: u, Op: op, Anonymous: x.req.Anonymous, NoCookies: true,
		Header: make(textproto.MIMEHeader, len(x.req.Header)+5)}
	for name, values := range x.req.Header {
		req.Header[textproto.CanonicalMIMEHeaderKey(name)] = values
	}
	method := http.MethodGet
	if op == fetch.OpStat {
		method = http.MethodHead
	}
	if key != "" {
		req.Range, req.IfChanged = x.req.Range, x.req.IfChanged
		req.Header.Set("X-Amz-Checksum-Mode", "ENABLED")
	}
	if x.place.key.ID == "" || req.Header.Get("Authorization") != "" {
		return req, nil
	}
	n, err := u.NetURL()
	if err != nil {
		return nil, err
	}
	scope := sigv4.Scope{Provider: "aws", Vendor: "amz", Region: region, Service: sigv4.S3}
	scope.Sign(sigv4.Request{Method: method, Host: n.Host, Path: u.Path(), Query: n.RawQuery,
		Payload: sigv4.Empty, Header: req.Header}, x.place.key, time.Now())
	return req, nil
}

func (d *opener) region(p *place, bucket string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if region, ok := d.regions[p.endpoint+" "+bucket]; ok {
		return region
	}
	return p.region
}

func (d *opener) remember(p *place, bucket, region string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.regions) >= maxRegions {
		clear(d.regions)
	}
	d.regions[p.endpoint+" "+bucket] = region
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	t, err := newTarget(req)
	if err != nil {
		return nil, err
	}
	p, err := d.place(d.env.ForeignRequest(req))
	if err != nil {
		return nil, err
	}
	key, query, method := t.key, t.version, http.MethodGet
	switch {
	case t.dir || req.Op == fetch.OpList:
		key, query = "", listQuery(t.prefix(), "")
	case req.Op == fetch.OpStat:
		method = http.MethodHead
	}
	u, err := p.url(p.region, t.bucket, key, query)
	if err != nil {
		return nil, err
	}
	step := "without a signature, because there is no access key"
	if _, named := req.URL.User(); named {
		p.source = "the login"
	}
	if p.source != "" {
		step = "sign it for the region " + p.region + " with the access key of " + p.source
	}
	return []string{method + " " + u.String(), step}, nil
}

func (d *opener) Expect(req *fetch.Request) (fetch.Meta, bool) {
	t, err := newTarget(req)
	if err != nil || t.dir {
		return fetch.Meta{}, false
	}
	return remotefile.Describe(t.name(), -1, time.Time{}), true
}

func parseURL(text string) (uri.URI, error) {
	u, err := uri.Parse(text)
	if err != nil {
		return u, &fetch.Error{Code: fetch.ErrURL, Err: err}
	}
	return u, nil
}
