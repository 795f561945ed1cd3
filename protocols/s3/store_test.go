package s3_test

import (
	"context"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/httpd"
	urlhttp "github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/s3"
)

const (
	keyID  = "AKIDEXAMPLE"
	secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

// A store serves a tree as the bucket "bucket". The zero options permit anonymous requests.
type store struct {
	*httpd.Handler
	tree     fs.FS
	private  bool                                              // requests must be signed
	perPage  int                                               // 0 means 1000
	endless  atomic.Bool                                       // the next listing has no end
	override func(w http.ResponseWriter, r *http.Request) bool // if it returns true, it has responded
	url      string
}

func (s *store) start(t testing.TB) *store {
	s.Handler = httpd.New(s.tree)
	srv := httptest.NewServer(s)
	s.url = srv.URL
	t.Cleanup(func() {
		s.Handler.Close()
		srv.CloseClientConnections()
		srv.Close()
	})
	return s
}

func (s *store) Fail(f servers.Fault) {
	if f == servers.Endless {
		s.endless.Store(true)
		return
	}
	s.Handler.Fail(f)
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n<Error><Code>%s</Code><Message>%s</Message><RequestId>1</RequestId></Error>", code, message)
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case s.override != nil && s.override(w, r):
	case bucket != "bucket":
		refuse(w, 404, "NoSuchBucket", "The specified bucket does not exist")
	case s.private && r.Header.Get("Authorization") == "":
		refuse(w, 403, "AccessDenied", "Access Denied")
	case s.private && !isSigned(r, "us-east-1", secret):
		refuse(w, 403, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided.")
	case r.URL.Query().Get("list-type") == "2":
		s.list(w, r)
	default:
		content, err := fs.ReadFile(s.tree, key)
		if err != nil {
			refuse(w, 404, "NoSuchKey", "The specified key does not exist.")
			return
		}
		tag, sum := md5.Sum(content), sha256.Sum256(content)
		w.Header().Set("ETag", fmt.Sprintf("\"%x\"", tag))
		if r.Header.Get("X-Amz-Checksum-Mode") == "ENABLED" && strings.HasSuffix(key, ".bin") {
			w.Header().Set("X-Amz-Checksum-Sha256", base64.StdEncoding.EncodeToString(sum[:]))
			w.Header().Set("X-Amz-Checksum-Type", "FULL_OBJECT")
		}
		http.StripPrefix("/bucket", s.Handler).ServeHTTP(w, r)
	}
}

// list serves ListObjectsV2. The continuation token is the number of members before the page.
func (s *store) list(w http.ResponseWriter, r *http.Request) {
	q, endless := r.URL.Query(), s.endless.Swap(false)
	prefix := q.Get("prefix")
	seen, members := map[string]bool{}, []string{}
	fs.WalkDir(s.tree, ".", func(key string, d fs.DirEntry, err error) error {
		if rest, ok := strings.CutPrefix(key, prefix); ok && err == nil && !d.IsDir() {
			dir, _, below := strings.Cut(rest, "/")
			if below {
				key = prefix + dir + "/"
			}
			if !seen[key] {
				seen[key] = true
				members = append(members, key)
			}
		}
		return err
	})
	slices.Sort(members)
	from, _ := strconv.Atoi(q.Get("continuation-token"))
	size := s.perPage
	if size == 0 {
		size = 1000
	}
	page := members[min(from, len(members)):min(from+size, len(members))]
	encode := func(s string) string { return s }
	w.Header().Set("Content-Type", "application/xml")
	fmt.Fprint(w, `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`)
	more := from+len(page) < len(members)
	fmt.Fprintf(w, "<IsTruncated>%t</IsTruncated>", more)
	if more {
		fmt.Fprintf(w, "<NextContinuationToken>%d</NextContinuationToken>", from+len(page))
	}
	if q.Get("encoding-type") == "url" {
		encode = url.QueryEscape
	}
	for _, key := range page {
		if strings.HasSuffix(key, "/") {
			fmt.Fprintf(w, "<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>", encode(key))
			continue
		}
		content, _ := fs.ReadFile(s.tree, key)
		fmt.Fprintf(w, "<Contents><Key>%s</Key><LastModified>2020-02-03T04:05:06.000Z</LastModified><ETag>&quot;%x&quot;</ETag><Size>%d</Size><StorageClass>STANDARD</StorageClass></Contents>\n",
			encode(key), md5.Sum(content), len(content))
	}
	for i := 0; endless && r.Context().Err() == nil; i++ {
		fmt.Fprintf(w, "<Contents><Key>%s%d</Key><Size>1</Size></Contents>\n", encode(prefix), i)
	}
	fmt.Fprint(w, "<EncodingType>", q.Get("encoding-type"), "</EncodingType></ListBucketResult>") // last, as MinIO sends it
}

// isSigned computes the signature of a request anew, from the fields that it names.
func isSigned(r *http.Request, region, secret string) bool {
	auth := r.Header.Get("Authorization")
	field := func(name string) string {
		_, rest, _ := strings.Cut(auth, name+"=")
		value, _, _ := strings.Cut(rest, ",")
		return value
	}
	date, scope := r.Header.Get("X-Amz-Date"), strings.SplitN(field("Credential"), "/", 2)
	if len(date) != 16 || len(scope) != 2 || scope[0] != keyID || scope[1] != date[:8]+"/"+region+"/s3/aws4_request" {
		return false
	}
	lines := []string{r.Method, (&url.URL{Path: r.URL.Path}).EscapedPath(), strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20")}
	lines[1] = strings.NewReplacer("!", "%21", "'", "%27", "(", "%28", ")", "%29", "*", "%2A", "&", "%26", "$", "%24", ",", "%2C", ":", "%3A",
		"=", "%3D", "@", "%40", "+", "%2B", ";", "%3B").Replace(lines[1])
	for name := range strings.SplitSeq(field("SignedHeaders"), ";") {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		lines = append(lines, name+":"+value)
	}
	lines = append(lines, "", field("SignedHeaders"), r.Header.Get("X-Amz-Content-Sha256"))
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	key := []byte("AWS4" + secret)
	for _, part := range append(strings.Split(scope[1], "/"), "AWS4-HMAC-SHA256\n"+date+"\n"+scope[1]+"\n"+hex.EncodeToString(sum[:])) {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	return hex.EncodeToString(key) == field("Signature")
}

// variables returns a Getenv of pairs.
func variables(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// signing are the variables of a user with an access key.
func signing() func(string) string {
	return variables("AWS_ACCESS_KEY_ID", keyID, "AWS_SECRET_ACCESS_KEY", secret)
}

func load(s *store, getenv func(string) string) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
		urlhttp.Load(env, reg)
		s3.With(s3.Options{Endpoint: s.url, Getenv: getenv})(env, reg)
	}
}

// client returns a client for a store, anonymous if getenv is nil.
func client(t testing.TB, s *store, getenv func(string) string, o *fetch.Options) *fetch.Client {
	if getenv == nil {
		getenv = variables()
	}
	return drive.Client(t, o, load(s, getenv))
}

// recorder passes on what is sent.
func recorder(note func([]byte)) fetch.Recorder {
	return fetch.RecorderFunc(func(context.Context, *fetch.Request) *fetch.Recording {
		return &fetch.Recording{Sent: func(_ int, p []byte) { note(p) },
			Line: func(sent bool, line string) {
				if sent {
					note([]byte(line + "\n"))
				}
			}}
	})
}
