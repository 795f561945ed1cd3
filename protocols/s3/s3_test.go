package s3_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/s3"
)

func tree() fstest.MapFS {
	return fstest.MapFS{
		"a.txt": {Data: []byte("content of a")}, "dir/b.bin": {Data: []byte("b")}, "dir/sub/c": {Data: []byte("c")},
		"50% é+x?": {Data: []byte("odd")},
	}
}

func TestRequestsAreSignedWithTheKeyOfTheUser(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	keys := file("credentials", "# keys\n[default]\naws_access_key_id = "+keyID+"\naws_secret_access_key = "+secret+
		"\n[other]\naws_access_key_id=AKIDOTHER\naws_secret_access_key=x\n[token]\naws_access_key_id="+keyID+"\naws_secret_access_key="+secret+"\naws_session_token=abc\n")
	marked := file("marked", "\ufeff[default]\naws_access_key_id="+keyID+"\naws_secret_access_key="+secret+"\n")
	config := file("config", "[default]\nregion = us-east-1\ns3 =\n  aws_access_key_id = nested\n[profile work]\nrole_arn = arn:x\n[profile  far]\nregion=eu-west-1\n")
	s := (&store{tree: tree(), private: true}).start(t)
	for name, tt := range map[string]struct {
		vars  []string
		url   string // "" for that of a.txt
		login fetch.Credentials
		from  string
		code  fetch.Code
		hint  string
	}{
		"variables":            {vars: []string{"AWS_ACCESS_KEY_ID", keyID, "AWS_SECRET_ACCESS_KEY", secret}},
		"a session":            {vars: []string{"AWS_ACCESS_KEY_ID", keyID, "AWS_SECRET_ACCESS_KEY", secret, "AWS_SESSION_TOKEN", "a/b="}},
		"variables first":      {vars: []string{"AWS_SHARED_CREDENTIALS_FILE", keys, "AWS_PROFILE", "other", "AWS_ACCESS_KEY_ID", keyID, "AWS_SECRET_ACCESS_KEY", secret}},
		"the default profile":  {vars: []string{"AWS_SHARED_CREDENTIALS_FILE", keys, "AWS_CONFIG_FILE", config}},
		"a byte order mark":    {vars: []string{"AWS_SHARED_CREDENTIALS_FILE", marked}},
		"another profile":      {vars: []string{"AWS_SHARED_CREDENTIALS_FILE", keys, "AWS_PROFILE", "other"}, code: fetch.ErrAuth},
		"a profile with token": {vars: []string{"AWS_SHARED_CREDENTIALS_FILE", keys, "AWS_PROFILE", "token"}},
		"a profile elsewhere":  {vars: []string{"AWS_CONFIG_FILE", config, "AWS_PROFILE", "work"}, code: fetch.ErrAuth, hint: "export-credentials"},
		"no such profile":      {vars: []string{"AWS_CONFIG_FILE", config, "AWS_PROFILE", "wrok"}, code: fetch.ErrAuth},
		"no such file":         {vars: []string{"AWS_CONFIG_FILE", dir}, code: fetch.ErrFile},
		"the region":           {vars: []string{"AWS_ACCESS_KEY_ID", keyID, "AWS_SECRET_ACCESS_KEY", secret, "AWS_REGION", "eu-west-1"}, code: fetch.ErrAuth},
		"a region of a file":   {vars: []string{"AWS_CONFIG_FILE", config, "AWS_PROFILE", "far", "AWS_ACCESS_KEY_ID", keyID, "AWS_SECRET_ACCESS_KEY", secret}, code: fetch.ErrAuth},
		"no region":            {vars: []string{"AWS_REGION", "x.evil.example/"}, code: fetch.ErrURL},
		"a wrong secret":       {vars: []string{"AWS_ACCESS_KEY_ID", keyID, "AWS_SECRET_ACCESS_KEY", "x"}, code: fetch.ErrAuth},
		"no key":               {code: fetch.ErrAuth, hint: "no access key"},
		"a login in the URL":   {url: "s3://" + keyID + ":" + secretInURL + "@bucket/a.txt"},
		"a login":              {login: drive.Credentials(fetch.Credential{User: keyID, Password: secret})},
		"a login of netrc":     {login: drive.Credentials(fetch.Credential{User: "anonymous", Password: "me@"}), vars: []string{"AWS_SHARED_CREDENTIALS_FILE", keys}},
		"a key with odd bytes": {url: "s3://bucket/50%25%20%C3%A9+x?", vars: []string{"AWS_SHARED_CREDENTIALS_FILE", keys}},
		"from the bucket":      {from: "s3://bucket/dir/", vars: []string{"AWS_SHARED_CREDENTIALS_FILE", keys}},
		"from a page":          {from: "http://192.0.2.1/", vars: []string{"AWS_SHARED_CREDENTIALS_FILE", keys, "AWS_ACCESS_KEY_ID", keyID, "AWS_SECRET_ACCESS_KEY", secret}, code: fetch.ErrAuth},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &fetch.Options{Credentials: tt.login, Policy: &fetch.Policy{AllowPrivate: true}}
			c := client(t, s, variables(tt.vars...), o)
			req := &fetch.Request{URL: uri.MustParse("s3://bucket/a.txt")}
			if tt.url != "" {
				req.URL = uri.MustParse(tt.url)
			}
			if tt.from != "" {
				req.From = uri.MustParse(tt.from)
			}
			_, _, err := drive.Do(t, c, req)
			var e *fetch.Error
			if errors.As(err, &e); fetch.CodeOf(err) != tt.code || (err == nil) != (tt.code == "") || tt.hint != "" && !strings.Contains(e.Hint+e.Error(), tt.hint) {
				t.Errorf("%v, want class %q and %q", err, tt.code, tt.hint)
			}
			if err != nil && strings.Contains(fmt.Sprintf("%v %s", err, e.Body), secret) {
				t.Errorf("the secret is in %v", err)
			}
			if _, err := c.Stat(t.Context(), req); (err == nil) != (tt.code == "") {
				t.Errorf("stat: %v", err)
			}
		})
	}
}

const secretInURL = "wJalrXUtnFEMI%2FK7MDENG+bPxRfiCYEXAMPLEKEY"

func TestExplainShowsTheRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		url, endpoint, region string
		want                  string // of the first step, or the class of the error
	}{
		{"s3://bucket/dir/a%20b", "", "", "GET https://bucket.s3.us-east-1.amazonaws.com/dir/a%20b"},
		{"s3://bucket/a?versionId=x%2Fy", "", "eu-west-1", "GET https://bucket.s3.eu-west-1.amazonaws.com/a?versionId=x%2Fy"},
		{"s3://bucket/a?b", "", "cn-north-1", "GET https://bucket.s3.cn-north-1.amazonaws.com.cn/a%3Fb"},
		{"s3://www.example.org/a", "", "", "GET https://s3.us-east-1.amazonaws.com/www.example.org/a"},
		{"s3://bucket/a!b", "http://localhost:9000/", "", "GET http://localhost:9000/bucket/a%21b"},
		{"s3://bucket/a//b", "https://store.example/base", "", "GET https://store.example/base/bucket/a//b"},
		{"s3://bucket/d%2F", "", "", "GET https://bucket.s3.us-east-1.amazonaws.com/d/"},
		{"s3://bucket", "", "", "GET https://bucket.s3.us-east-1.amazonaws.com/?delimiter=%2F&encoding-type=url&list-type=2&max-keys=1000&prefix="},
		{"s3://bucket/a b/", "", "", "bad_url"},
		{"s3://bucket/a%20b/", "", "", "GET https://bucket.s3.us-east-1.amazonaws.com/?delimiter=%2F&encoding-type=url&list-type=2&max-keys=1000&prefix=a%20b%2F"},
		{"s3:///a", "", "", "bad_url"},
		{"s3://Bucket_1/a", "", "", "GET https://s3.us-east-1.amazonaws.com/bucket_1/a"},
		{"s3://bucket:9000/a", "", "", "bad_url"},
		{"s3://a..b/a", "", "", "bad_url"},
		{"s3://-b/a", "", "", "bad_url"},
		{"s3://bucket/a%0Ab", "", "", "bad_url"},
		{"s3://bucket/a?versionId=%0D", "", "", "bad_url"},
		{"s3://bucket/" + strings.Repeat("a", 5000), "", "", "bad_url"},
		{"s3://bucket/a", "ftp://store.example/", "", "bad_url"},
		{"s3://bucket/a", "https://joe:x@store.example/", "", "bad_url"},
		{"s3://bucket/a", "", "x/y", "bad_url"},
	} {
		c := drive.Client(t, nil, urlhttp.Load, s3.With(s3.Options{Endpoint: tt.endpoint, Getenv: variables("AWS_REGION", tt.region)}))
		u, err := uri.Parse(tt.url)
		got := "bad_url"
		if err == nil {
			var x *fetch.Explanation
			if x, err = c.Explain(&fetch.Request{URL: u}); err == nil && len(x.Steps) > 1 {
				got = x.Steps[0]
			} else if code := fetch.CodeOf(err); code != fetch.ErrURL {
				t.Errorf("%.80s: %v", tt.url, err)
			}
		}
		if got != tt.want {
			t.Errorf("%.80s: %q, want %q", tt.url, got, tt.want)
		}
	}
}

// A store may name the region of a bucket in several ways. It is believed once.
func TestRegionOfABucketIsFollowedOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		regions []string // of the responses, one after the other
		respond func(w http.ResponseWriter, region string)
		code    fetch.Code
		want    string // the regions of the signatures, for two requests
	}{
		"301": {[]string{"eu-west-1"}, func(w http.ResponseWriter, region string) {
			w.Header().Set("X-Amz-Bucket-Region", region)
			refuse(w, 301, "PermanentRedirect", "use the region")
		}, "", "us-east-1 eu-west-1 eu-west-1"},
		"307 with a location": {[]string{"eu-west-1"}, func(w http.ResponseWriter, region string) {
			w.Header().Set("X-Amz-Bucket-Region", region)
			w.Header().Set("Location", "http://other.invalid/")
			w.WriteHeader(307)
		}, "", "us-east-1 eu-west-1 eu-west-1"},
		"400": {[]string{"eu-west-1"}, func(w http.ResponseWriter, region string) {
			refuse(w, 400, "AuthorizationHeaderMalformed", "wrong region</Message><Region>"+region+"</Region><Message>")
		}, "", "us-east-1 eu-west-1 eu-west-1"},
		"again and again": {[]string{"eu-west-1", "eu-west-2", "eu-west-3"}, func(w http.ResponseWriter, region string) {
			w.Header().Set("X-Amz-Bucket-Region", region)
			refuse(w, 301, "PermanentRedirect", "use the region")
		}, fetch.ErrRedirect, "us-east-1 eu-west-1"},
		"no region": {[]string{"evil.example/"}, func(w http.ResponseWriter, region string) {
			w.Header().Set("X-Amz-Bucket-Region", region)
			refuse(w, 301, "PermanentRedirect", "use the region")
		}, fetch.ErrRedirect, "us-east-1"},
		"only a location": {[]string{""}, func(w http.ResponseWriter, region string) {
			w.Header().Set("Location", "http://other.invalid/")
			w.WriteHeader(307)
		}, fetch.ErrRedirect, "us-east-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var signed []string
			left := tt.regions
			s := &store{tree: tree()}
			s.override = func(w http.ResponseWriter, r *http.Request) bool {
				mu.Lock()
				defer mu.Unlock()
				signed = append(signed, strings.Split(r.Header.Get("Authorization"), "/")[2])
				if len(left) == 0 {
					return false
				}
				tt.respond(w, left[0])
				left = left[1:]
				return true
			}
			c := client(t, s.start(t), signing(), nil)
			_, err := drive.Get(t, c, "s3://bucket/a.txt")
			if fetch.CodeOf(err) != tt.code || (err == nil) != (tt.code == "") {
				t.Fatalf("%v, want class %q", err, tt.code)
			}
			if err == nil {
				drive.MustGet(t, c, "s3://bucket/dir/b.bin")
			}
			if got := strings.Join(signed, " "); got != tt.want {
				t.Errorf("signed for %s, want %s", got, tt.want)
			}
		})
	}
}

func TestErrorsHaveTheWordsOfTheStore(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		code   string
		want   fetch.Code
		retry  bool
	}{
		{404, "NoSuchKey", fetch.ErrNotFound, false}, {404, "NoSuchBucket", fetch.ErrNotFound, false},
		{400, "NoSuchVersion", fetch.ErrNotFound, false},
		{403, "AccessDenied", fetch.ErrRefused, false}, {403, "InvalidAccessKeyId", fetch.ErrAuth, false},
		{400, "ExpiredToken", fetch.ErrAuth, false}, {403, "RequestTimeTooSkewed", fetch.ErrAuth, false},
		{403, "InvalidObjectState", fetch.ErrRefused, false}, {416, "InvalidRange", fetch.ErrRange, false},
		{503, "SlowDown", fetch.ErrBusy, true}, {400, "RequestTimeout", fetch.ErrBusy, true},
		{500, "InternalError", fetch.ErrServer, true}, {501, "NotImplemented", fetch.ErrServer, false},
		{418, "<", fetch.ErrRefused, false}, {418, "", fetch.ErrRefused, false},
	} {
		s := &store{tree: tree(), override: func(w http.ResponseWriter, r *http.Request) bool {
			refuse(w, tt.status, tt.code, "The words\r\n of the store")
			return true
		}}
		c := client(t, s.start(t), signing(), nil)
		for _, u := range []string{"s3://bucket/a.txt", "s3://bucket/dir/"} {
			_, err := drive.Get(t, c, u)
			var e *fetch.Error
			if !errors.As(err, &e) || e.Code != tt.want || e.Retry != tt.retry || e.Reply.Code != tt.status {
				t.Errorf("%d %s: %v (retry %v), want class %q", tt.status, tt.code, err, e.Retry, tt.want)
			}
			words := strings.Contains(err.Error(), tt.code+": The words") && !strings.ContainsAny(err.Error(), "\r\n")
			if known := tt.code != "<" && tt.code != ""; words != known {
				t.Errorf("%d %s: %q", tt.status, tt.code, err.Error())
			}
		}
	}
}

func TestChecksumsOfTheStoreAreVerified(t *testing.T) {
	t.Parallel()
	const wrong = "00000000000000000000000000000000"
	sum := "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	for name, tt := range map[string]struct {
		fields []string
		code   fetch.Code
	}{
		"an MD5":               {[]string{"ETag", `"` + wrong + `"`}, fetch.ErrChecksum},
		"an MD5, S3's own key": {[]string{"ETag", `"` + wrong + `"`, "X-Amz-Server-Side-Encryption", "AES256"}, fetch.ErrChecksum},
		"a key of KMS":         {[]string{"ETag", `"` + wrong + `"`, "X-Amz-Server-Side-Encryption", "aws:kms"}, ""},
		"a customer's key":     {[]string{"ETag", `"` + wrong + `"`, "X-Amz-Server-Side-Encryption-Customer-Algorithm", "AES256"}, ""},
		"an express zone":      {[]string{"ETag", `"` + wrong + `"`, "X-Amz-Storage-Class", "EXPRESS_ONEZONE"}, ""},
		"parts":                {[]string{"ETag", `"` + wrong + `-2"`}, ""},
		"a weak tag":           {[]string{"ETag", `W/"` + wrong + `"`}, ""},
		"another tag":          {[]string{"ETag", `"abc"`}, ""},
		"a SHA-256":            {[]string{"X-Amz-Checksum-Sha256", sum, "X-Amz-Checksum-Type", "FULL_OBJECT"}, fetch.ErrChecksum},
		"a SHA-256 of parts":   {[]string{"X-Amz-Checksum-Sha256", sum, "X-Amz-Checksum-Type", "COMPOSITE"}, ""},
		"a SHA-256 and a tag":  {[]string{"X-Amz-Checksum-Crc32c", "", "ETag", `"` + wrong + `"`}, fetch.ErrChecksum},
	} {
		s := &store{tree: tree(), override: func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("X-Amz-Checksum-Mode") != "ENABLED" {
				t.Errorf("%s: no checksum was requested", name)
			}
			for i := 0; i < len(tt.fields); i += 2 {
				w.Header().Set(tt.fields[i], tt.fields[i+1])
			}
			w.Write([]byte("content"))
			return true
		}}
		_, err := drive.Get(t, client(t, s.start(t), nil, nil), "s3://bucket/a.txt")
		if fetch.CodeOf(err) != tt.code || (err == nil) != (tt.code == "") {
			t.Errorf("%s: %v, want class %q", name, err, tt.code)
		}
	}
}

func TestRangesAreGuarded(t *testing.T) {
	t.Parallel()
	s := (&store{tree: tree(), private: true}).start(t)
	c := client(t, s, signing(), nil)
	resp, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse("s3://bucket/a.txt")})
	if err != nil || resp.Size != 12 || resp.ETag == "" || resp.ModTime.IsZero() || resp.Name != "" {
		t.Fatalf("%+v, %v", resp, err)
	}
	for name, tt := range map[string]struct {
		known fetch.Validator
		r     fetch.Range
		want  string
		code  fetch.Code
	}{
		"the same tag":    {fetch.Validator{ETag: resp.ETag}, fetch.Range{Offset: 8}, "of a", ""},
		"another tag":     {fetch.Validator{ETag: `"x"`}, fetch.Range{Offset: 8}, "content of a", ""},
		"the end":         {fetch.Validator{}, fetch.Range{Offset: -1}, "a", ""},
		"after the end":   {fetch.Validator{}, fetch.Range{Offset: 100}, "", fetch.ErrRange},
		"not modified":    {fetch.Validator{ETag: resp.ETag}, fetch.Range{}, "", fetch.ErrNotModified},
		"the same time":   {fetch.Validator{ModTime: resp.ModTime}, fetch.Range{Offset: 8}, "of a", ""},
		"another time":    {fetch.Validator{ModTime: time.Unix(1, 0)}, fetch.Range{Offset: 8}, "content of a", ""},
		"no ignored time": {fetch.Validator{ModTime: time.Unix(1, 0)}, fetch.Range{Offset: 8, Length: 1}, "content of a", ""},
	} {
		got, _, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse("s3://bucket/a.txt"), Range: tt.r, IfChanged: tt.known})
		if got != tt.want || fetch.CodeOf(err) != tt.code || (err == nil) != (tt.code == "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	s = (&store{tree: tree(), override: func(w http.ResponseWriter, r *http.Request) bool {
		r.Header.Del("If-Range") // as a store that does not know it
		return false
	}}).start(t)
	_, _, err = drive.Do(t, client(t, s, nil, nil), &fetch.Request{URL: uri.MustParse("s3://bucket/a.txt"), Range: fetch.Range{Offset: 8},
		IfChanged: fetch.Validator{ModTime: time.Unix(1, 0)}})
	if !errors.Is(err, fetch.ErrChanged) {
		t.Errorf("a range of another version: %v", err)
	}
}

func TestListings(t *testing.T) {
	t.Parallel()
	many := fstest.MapFS{}
	for i := range 2500 {
		many[fmt.Sprintf("many/%04d", i)] = &fstest.MapFile{}
	}
	many["dir/sub/c"], many["dir/b.bin"], many["dir/x+y"] = tree()["dir/sub/c"], tree()["dir/b.bin"], &fstest.MapFile{}
	s := (&store{tree: many}).start(t)
	c := client(t, s, nil, nil)
	if n := len(drive.MustList(t, c, "s3://bucket/many")); n != 2500 {
		t.Errorf("%d entries over several pages", n)
	}
	var got []string
	for _, e := range drive.MustList(t, c, "s3://bucket/dir/") {
		got = append(got, fmt.Sprint(e.Kind, " ", e.URL, " ", e.Size, " ", e.ModTime.Year()))
	}
	want := "object s3://bucket/dir/b.bin 1 2020|listing s3://bucket/dir/sub/ -1 1|object s3://bucket/dir/x%2By 0 2020"
	if strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", got, want)
	}
	drive.Fails(t, c, "s3://bucket/none/", fetch.ErrNotFound)
	drive.Fails(t, c, "s3://other/", fetch.ErrNotFound)
	meta, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse("s3://bucket/dir/")})
	if err != nil || meta.Kind != fetch.KindListing {
		t.Errorf("%+v, %v", meta, err)
	}
}

func TestInvalidListings(t *testing.T) {
	t.Parallel()
	key := func(name string) string {
		return "<Contents><Key>" + name + "</Key><Size>1</Size></Contents>"
	}
	last := "<IsTruncated>false</IsTruncated></ListBucketResult>"
	for name, tt := range map[string]struct {
		text string
		want string // the names, or the class
	}{
		"empty":            {"", "protocol"},
		"another document": {"<html></html>", "protocol"},
		"cut":              {"<ListBucketResult>" + key("d/a"), "protocol"},
		"two":              {"<ListBucketResult></ListBucketResult><ListBucketResult>" + last, "not_found"},
		"an outside key":   {"<ListBucketResult>" + key("e/a") + last, "protocol"},
		"a size":           {"<ListBucketResult><Contents><Key>d/a</Key><Size>-1</Size></Contents>" + last, "protocol"},
		"no end":           {"<ListBucketResult>" + key("d/a") + "</ListBucketResult>", "protocol"},
		"an unclear end":   {"<ListBucketResult><IsTruncated>TRUTH</IsTruncated>" + key("d/a") + "</ListBucketResult>", "protocol"},
		"another true":     {"<ListBucketResult><IsTruncated>1</IsTruncated>" + key("d/a") + "</ListBucketResult>", "protocol"},
		"without a token":  {"<ListBucketResult><IsTruncated>true</IsTruncated>" + key("d/a") + "</ListBucketResult>", "protocol"},
		"the same token":   {"<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken>" + key("d/a") + "</ListBucketResult>", "protocol"},
		"many keys":        {"<ListBucketResult>" + strings.Repeat(key("d/a"), 1001) + last, "protocol"},
		"a long key":       {"<ListBucketResult>" + key("d/"+strings.Repeat("x", 1<<20)) + last, "protocol"},
		"deep":             {"<ListBucketResult>" + strings.Repeat("<a>", 100) + strings.Repeat("</a>", 100) + last, "protocol"},
		"an entity":        {"<!DOCTYPE x [<!ENTITY a 'b'>]><ListBucketResult>" + key("d/&a;") + last, "protocol"},
		"a bad encoding":   {"<ListBucketResult><EncodingType>url</EncodingType>" + key("d/%zz") + last, "protocol"},
		"the directory":    {"<ListBucketResult>" + key("d/") + key("d/a") + last, "a"},
		"dots":             {"<ListBucketResult><CommonPrefixes><Prefix>d/../</Prefix></CommonPrefixes>" + key("d/.") + last, "! !"},
		"two slashes":      {"<ListBucketResult><CommonPrefixes><Prefix>d//</Prefix></CommonPrefixes>" + last, "/"},
		"not encoded":      {"<ListBucketResult>" + key("d/a+%41") + last, "a+%41"},
		"encoded":          {"<ListBucketResult><EncodingType>url</EncodingType>" + key("d/a+%41") + last, "a A"},
	} {
		s := &store{tree: tree(), override: func(w http.ResponseWriter, r *http.Request) bool {
			w.Write([]byte(tt.text))
			return true
		}}
		entries, err := drive.List(t, client(t, s.start(t), nil, nil), "s3://bucket/d/")
		var names []string
		for _, e := range entries {
			if e.Kind == fetch.EntryError {
				e.Name = "!"
			}
			names = append(names, e.Name)
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = string(fetch.CodeOf(err))
		}
		if got != tt.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tt.want)
		}
	}
}

// A session token shows neither in errors nor in the conversation.
func TestTokenIsASecret(t *testing.T) {
	t.Parallel()
	const token = "t0ken"
	s := &store{tree: tree(), override: func(w http.ResponseWriter, r *http.Request) bool {
		repeated := r.Header.Get("X-Amz-Security-Token")
		refuse(w, 403, "SignatureDoesNotMatch", "not "+repeated+"</Message><CanonicalRequest>"+repeated+"</CanonicalRequest><Message>")
		return true
	}}
	var mu sync.Mutex
	var seen bytes.Buffer
	note := func(p []byte) {
		mu.Lock()
		defer mu.Unlock()
		seen.Write(p)
	}
	o := &fetch.Options{Recorder: recorder(note)}
	c := client(t, s.start(t), variables("AWS_ACCESS_KEY_ID", keyID, "AWS_SECRET_ACCESS_KEY", secret, "AWS_SESSION_TOKEN", token), o)
	_, err := drive.Get(t, c, "s3://bucket/a.txt")
	var e *fetch.Error
	if !errors.As(err, &e) || e.Code != fetch.ErrAuth || strings.Contains(e.Error()+string(e.Body), token) {
		t.Errorf("%v %s", err, e.Body)
	}
	mu.Lock()
	defer mu.Unlock()
	if text := seen.String(); !strings.Contains(text, "X-Amz-Security-Token: ") || strings.Contains(text, token) || strings.Contains(text, "Signature=") {
		t.Errorf("recorded %q", text)
	}
}
