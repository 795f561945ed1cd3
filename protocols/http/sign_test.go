package http_test

import (
	"context"
	"io"
	"net/http"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/internal/sigv4"
)

// The server signs what it received again. The algorithm itself is tested with the vectors of AWS.
func TestRequestsAreSignedAsInCurl(t *testing.T) {
	t.Parallel()
	const id, secret = "AKIDEXAMPLE", "s3cr3t"
	for name, tt := range map[string]struct {
		option  string
		path    string
		send    bool
		method  string
		once    bool // the body can be read once
		header  map[string][]string
		from    string
		code    fetch.Code
		payload string
		want    string // its beginning, up to the signature
	}{
		"s3":                  {option: "aws:amz:us-east-1:s3", path: "/b/a%20b?x=y", payload: sigv4.Empty, want: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/DATE/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature="},
		"another service":     {option: "aws:amz:us-east-1:iam", path: "/a%20b", payload: sigv4.Empty, want: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/DATE/us-east-1/iam/aws4_request, SignedHeaders=host;x-amz-date, Signature="},
		"another provider":    {option: "osc:osc:r:fcu", path: "/", payload: sigv4.Empty, want: "OSC4-HMAC-SHA256 Credential=AKIDEXAMPLE/DATE/r/fcu/osc4_request, SignedHeaders=host;x-osc-date, Signature="},
		"a form":              {option: "aws:amz:us-east-1:iam", path: "/", send: true, payload: "sum", want: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/DATE/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature="},
		"an upload to s3":     {option: "aws:amz:us-east-1:s3", path: "/", send: true, method: "PUT", payload: sigv4.Unsigned, want: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/DATE/us-east-1/s3/aws4_request, SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date, Signature="},
		"a pipe to s3":        {option: "aws:amz:us-east-1:s3", path: "/", send: true, once: true, payload: sigv4.Unsigned, want: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/DATE/us-east-1/s3/aws4_request, SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date, Signature="},
		"a pipe":              {option: "aws:amz:us-east-1:iam", path: "/", send: true, once: true, code: fetch.ErrRequest},
		"no region":           {option: "aws:amz", path: "/", code: fetch.ErrRequest},
		"no option":           {path: "/", want: ""},
		"a field of the user": {option: "aws:amz:us-east-1:s3", path: "/", header: map[string][]string{"authorization": {"Bearer x"}}, want: "Bearer x"},
		"from another origin": {option: "aws:amz:us-east-1:s3", path: "/", from: "http://192.0.2.1/", want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got *http.Request
			u := serve(t, func(w http.ResponseWriter, r *http.Request) { got = r; io.Copy(io.Discard, r.Body) })
			logins := fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
				if ch.Foreign {
					return fetch.Credential{}, fetch.ErrAuth
				}
				return fetch.Credential{User: id, Password: secret}, nil
			})
			c := newClient(t, &fetch.Options{Credentials: logins, Policy: &fetch.Policy{AllowPrivate: true}}, urlhttp.Options{AWSSigV4: tt.option})
			req := &fetch.Request{URL: uri.MustParse(u + tt.path), Header: tt.header, Method: tt.method}
			if tt.from != "" {
				req.From = uri.MustParse(tt.from)
			}
			if tt.send {
				req.Header = map[string][]string{"Content-Type": {"application/x-www-form-urlencoded"}}
				body := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("Param1=value1")), nil }
				if req.GetBody = body; tt.once {
					req.Body, _ = body()
					req.GetBody = nil
				}
			}
			_, _, err := drive.Do(t, c, req)
			if fetch.CodeOf(err) != tt.code || (err == nil) != (tt.code == "") {
				t.Fatalf("%v, want class %q", err, tt.code)
			}
			if err != nil {
				return
			}
			auth := got.Header.Get("Authorization")
			if !strings.HasSuffix(tt.want, "=") {
				if auth != tt.want {
					t.Errorf("Authorization: %s", auth)
				}
				return
			}
			scope, err := sigv4.Parse(tt.option)
			if err != nil {
				t.Fatal(err)
			}
			date := got.Header.Get("X-" + strings.ToUpper(scope.Vendor[:1]) + scope.Vendor[1:] + "-Date")
			at, err := time.Parse("20060102T150405Z", date)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Replace(tt.want, "DATE", date[:8], 1); !strings.HasPrefix(auth, want) {
				t.Errorf("%s, want %s", auth, want)
			}
			if tt.payload == "sum" { // of Param1=value1, as in the test suite of AWS
				tt.payload = "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e"
			}
			again := sigv4.Request{Method: got.Method, Host: got.Host, Path: got.URL.EscapedPath(), Query: got.URL.RawQuery,
				Payload: tt.payload, Header: textproto.MIMEHeader{}}
			if kind := got.Header.Get("Content-Type"); kind != "" {
				again.Header.Set("Content-Type", kind)
			}
			if scope.Sign(again, sigv4.Key{ID: id, Secret: secret}, at); again.Header.Get("Authorization") != auth {
				t.Errorf("%s, want %s", auth, again.Header.Get("Authorization"))
			}
		})
	}
}

// A signature is made for each request, and none for another origin or without a login.
func TestSignaturesAreNotSentElsewhere(t *testing.T) {
	t.Parallel()
	var elsewhere, here []string
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		elsewhere = append(elsewhere, r.Header.Get("Authorization")+r.Header.Get("X-Amz-Date"))
	})
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		here = append(here, r.Header.Get("Authorization"))
		to := "/end"
		if r.URL.Path == "/end" {
			to = other
		}
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
	})
	c := newClient(t, nil, urlhttp.Options{AWSSigV4: "aws:amz:us-east-1:s3"})
	if _, err := drive.Get(t, c, strings.Replace(u, "//", "//AKID:s3cr3t@", 1)); err != nil {
		t.Fatal(err)
	}
	if len(here) != 2 || here[0] == "" || here[1] == "" || here[0] == here[1] {
		t.Errorf("signatures for the two paths: %q", here)
	}
	if len(elsewhere) != 1 || elsewhere[0] != "" {
		t.Errorf("another origin got %q", elsewhere)
	}
	drive.MustGet(t, c, other)
	if elsewhere[1] != "" {
		t.Errorf("without a login: %q", elsewhere[1])
	}
}
