package s3_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/internal/artefact"
	"github.com/urlget/urlget/queue/queuetest"
	"github.com/urlget/urlget/queue/s3"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// credentialsFile writes a credentials file for the test server.
func credentialsFile(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(name, []byte("[default]\naws_access_key_id = "+keyID+"\naws_secret_access_key = "+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func open(t *testing.T, server *bucketServer) *s3.Store {
	t.Helper()
	s, err := s3.Open(t.Context(), s3.Options{Endpoint: server.URL, Bucket: "bucket", Prefix: "pre/fix", Credentials: credentialsFile(t), Spool: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	queuetest.RunStore(t, func(t *testing.T, forged map[string]string) queue.Store {
		server := serve(t)
		for sum, text := range forged {
			server.objects["pre/fix/"+artefact.Path(sum)] = object{int64(len(text)), []byte(text), time.Now()}
		}
		return open(t, server)
	})
}

func commit(t *testing.T, s *s3.Store, r io.Reader) (string, error) {
	t.Helper()
	spool, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(spool, sum), r); err != nil {
		t.Fatal(err)
	}
	return spool.Commit(t.Context(), hex.EncodeToString(sum.Sum(nil)))
}

func TestLargeBody(t *testing.T) {
	fetchtest.Long(t) // writes 100 MB to a file
	const size = 100 << 20
	server := serve(t)
	server.discard = true
	s := open(t, server)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	path, err := commit(t, s, io.LimitReader(zeros{}, size))
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(path, "s3://bucket/")
	if o := server.objects[name]; o.size != size || server.uploads != 1 {
		t.Errorf("%s: %d bytes in %d multipart uploads", name, o.size, server.uploads)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > size/2 {
		t.Errorf("%d bytes allocated for a body of %d bytes", allocated, size)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestExistingBodyIsNotUploaded(t *testing.T) {
	t.Parallel()
	server := serve(t)
	s := open(t, server)
	for range 2 {
		if _, err := commit(t, s, strings.NewReader("text")); err != nil {
			t.Fatal(err)
		}
	}
	puts := 0
	for _, r := range server.requests {
		if strings.HasPrefix(r, "PUT ") {
			puts++
		}
	}
	if puts != 1 {
		t.Errorf("%d PUT requests, want 1: %q", puts, server.requests)
	}
}

func TestCommitErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		status int
		want   fetch.Code
	}{
		{"forbidden", 403, fetch.ErrAuth},
		{"server error", 500, fetch.ErrServer},
		{"not found", 404, fetch.ErrNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := serve(t)
			s := open(t, server)
			server.fail = func(r *http.Request) int {
				if r.Method == http.MethodPut {
					return tt.status
				}
				return 0
			}
			_, err := commit(t, s, strings.NewReader("text"))
			if fetch.CodeOf(err) != tt.want || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
			if len(server.objects) > 0 {
				t.Errorf("%d objects", len(server.objects))
			}
		})
	}
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	server, creds := serve(t), credentialsFile(t)
	closedServer := serve(t)
	closedServer.Server.Close()
	for _, tt := range []struct {
		name string
		opts s3.Options
		want fetch.Code
	}{
		{"no such bucket", s3.Options{Endpoint: server.URL, Bucket: "another", Credentials: creds}, fetch.ErrNotFound},
		{"a login in the URL", s3.Options{Endpoint: "https://u:" + secret + "@h", Bucket: "bucket", Credentials: creds}, fetch.ErrRequest},
		{"not a URL", s3.Options{Endpoint: "h:80", Bucket: "bucket", Credentials: creds}, fetch.ErrRequest},
		{"no file", s3.Options{Endpoint: server.URL, Bucket: "bucket", Credentials: creds + "x"}, fetch.ErrFile},
		{"an empty file", s3.Options{Endpoint: server.URL, Bucket: "bucket", Credentials: os.DevNull}, fetch.ErrAuth},
		{"unreachable", s3.Options{Endpoint: closedServer.URL, Bucket: "bucket", Credentials: creds}, fetch.ErrNetwork},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := s3.Open(t.Context(), tt.opts)
			if fetch.CodeOf(err) != tt.want || strings.Contains(err.Error(), secret) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestCancelledUpload(t *testing.T) {
	t.Parallel()
	server := serve(t)
	s := open(t, server)
	ctx, cancel := context.WithCancel(t.Context())
	server.fail = func(r *http.Request) int {
		if r.Method == http.MethodPut {
			cancel()
			return 503
		}
		return 0
	}
	spool, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(spool, "text")
	sum := sha256.Sum256([]byte("text"))
	if _, err := spool.Commit(ctx, hex.EncodeToString(sum[:])); fetch.CodeOf(err) != fetch.ErrInterrupted {
		t.Errorf("Commit with a cancelled context: %v", err)
	}
}
