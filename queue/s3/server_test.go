package s3_test

import (
	"bufio"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A bucketServer implements the part of S3 that a Store needs, for one bucket. If forget is true,
// it stores only sizes, so that large bodies take no memory.
type bucketServer struct {
	*httptest.Server
	mu       sync.Mutex
	objects  map[string]object
	parts    map[int][]byte // parts of the current upload
	uploads  int
	requests []string
	fail     func(r *http.Request) int // returns the status of a failing request, or 0
	problems []string
	discard  bool // bodies are counted, not stored
}

type object struct {
	size int64
	data []byte
	time time.Time
}

const (
	keyID  = "KEYID"
	secret = "verysecret"
)

func serve(t *testing.T) *bucketServer {
	s := &bucketServer{objects: map[string]object{}, parts: map[int][]byte{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		for _, text := range s.problems {
			t.Error(text)
		}
	})
	return s
}

func (s *bucketServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := s.check(r)
	n, data, err := s.read(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	if s.fail != nil {
		if status := s.fail(r); status != 0 {
			s.refuse(w, status)
			return
		}
	}
	name, ok := strings.CutPrefix(r.URL.Path, "/bucket/")
	q := r.URL.Query()
	switch {
	case !ok || !strings.HasPrefix(r.URL.Path, "/bucket/"):
		s.refuse(w, http.StatusNotFound)
	case q.Has("location"):
		fmt.Fprint(w, "<LocationConstraint></LocationConstraint>")
	case name == "" && q.Has("list-type"):
		s.list(w, q.Get("prefix"))
	case name == "": // the bucket itself
	case r.Method == http.MethodPost && q.Has("uploads"):
		s.uploads++
		fmt.Fprintf(w, "<InitiateMultipartUploadResult><Bucket>bucket</Bucket><Key>%s</Key><UploadId>u1</UploadId></InitiateMultipartUploadResult>", name)
	case r.Method == http.MethodPut && q.Get("uploadId") == "u1":
		part, _ := strconv.Atoi(q.Get("partNumber"))
		s.parts[part] = data
		if s.discard {
			s.parts[part] = []byte(strconv.FormatInt(n, 10))
		}
		w.Header().Set("ETag", tag(data))
	case r.Method == http.MethodPost && q.Get("uploadId") == "u1":
		s.complete(w, name)
	case r.Method == http.MethodDelete && q.Get("uploadId") == "u1":
		clear(s.parts)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodDelete:
		delete(s.objects, name)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPut:
		s.objects[name] = object{n, data, time.Now()}
		w.Header().Set("ETag", tag(data))
	case r.Method == http.MethodHead, r.Method == http.MethodGet:
		o, ok := s.objects[name]
		if !ok {
			s.refuse(w, http.StatusNotFound)
			return
		}
		w.Header().Set("ETag", tag(o.data))
		w.Header().Set("Last-Modified", o.time.UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Length", strconv.FormatInt(o.size, 10))
		if r.Method == http.MethodGet {
			w.Write(o.data)
		}
	default:
		s.refuse(w, http.StatusNotImplemented)
	}
}

func (s *bucketServer) list(w http.ResponseWriter, prefix string) {
	fmt.Fprint(w, "<ListBucketResult><Name>bucket</Name><IsTruncated>false</IsTruncated>")
	for name, o := range s.objects {
		if strings.HasPrefix(name, prefix) {
			fmt.Fprintf(w, "<Contents><Key>%s</Key><Size>%d</Size><LastModified>%s</LastModified></Contents>", name, o.size, o.time.UTC().Format(time.RFC3339))
		}
	}
	fmt.Fprint(w, "</ListBucketResult>")
}

func tag(data []byte) string { return fmt.Sprintf("%q", hex.EncodeToString(sumOf(data))) }

func sumOf(data []byte) []byte { sum := md5.Sum(data); return sum[:] }

func (s *bucketServer) complete(w http.ResponseWriter, name string) {
	var o object
	for i := 1; i <= len(s.parts); i++ {
		if s.discard {
			n, _ := strconv.ParseInt(string(s.parts[i]), 10, 64)
			o.size += n
			continue
		}
		o.data = append(o.data, s.parts[i]...)
		o.size = int64(len(o.data))
	}
	o.time = time.Now()
	clear(s.parts)
	s.objects[name] = o
	fmt.Fprintf(w, "<CompleteMultipartUploadResult><Bucket>bucket</Bucket><Key>%s</Key><ETag>\"x\"</ETag></CompleteMultipartUploadResult>", name)
}

func (s *bucketServer) refuse(w http.ResponseWriter, status int) {
	type refusal struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}
	code := map[int]string{404: "NoSuchKey", 403: "AccessDenied", 503: "SlowDown", 500: "InternalError"}[status]
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	xml.NewEncoder(w).Encode(refusal{Code: code, Message: "error of the test"})
}

// check checks the signature of a request and returns its decoded body.
func (s *bucketServer) check(r *http.Request) io.Reader {
	s.mu.Lock()
	defer s.mu.Unlock()
	auth, sum := r.Header.Get("Authorization"), r.Header.Get("X-Amz-Content-Sha256")
	if !strings.HasPrefix(auth, "AWS4-HMAC-SHA256 Credential="+keyID+"/") || !strings.Contains(auth, "Signature=") || r.Header.Get("X-Amz-Date") == "" || sum == "" {
		s.problems = append(s.problems, r.Method+" "+r.URL.Path+" is not signed")
	}
	for _, values := range r.Header {
		if slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, secret) }) {
			s.problems = append(s.problems, "a header contains the secret")
		}
	}
	if strings.HasPrefix(sum, "STREAMING-") {
		return &chunks{r: bufio.NewReader(r.Body)}
	}
	return r.Body
}

func (s *bucketServer) read(body io.Reader) (n int64, data []byte, err error) {
	if s.discard {
		n, err = io.Copy(sha256.New(), body)
		return n, nil, err
	}
	data, err = io.ReadAll(body)
	return int64(len(data)), data, err
}

// chunks decodes a body in signed chunks: each starts with a length in hexadecimal and a signature.
type chunks struct {
	r         *bufio.Reader
	remaining int64
	ended     bool
}

func (c *chunks) Read(p []byte) (int, error) {
	if c.ended {
		return 0, io.EOF
	}
	if c.remaining == 0 {
		line, err := c.r.ReadString('\n')
		if err != nil {
			return 0, io.ErrUnexpectedEOF
		}
		size, signature, ok := strings.Cut(strings.TrimSpace(line), ";chunk-signature=")
		if c.remaining, err = strconv.ParseInt(size, 16, 64); err != nil || !ok || len(signature) != 64 {
			return 0, fmt.Errorf("not a chunk header: %q", line)
		}
		if c.remaining == 0 {
			c.ended = true
			io.Copy(io.Discard, c.r)
			return 0, io.EOF
		}
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.remaining)])
	if c.remaining -= int64(n); c.remaining == 0 {
		c.r.Discard(2)
	}
	return n, err
}
