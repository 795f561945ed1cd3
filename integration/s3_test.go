//go:build integration

package integration

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	webdriver "github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/s3"
)

const swiftKey, swiftSecret = "lab:joe", "secret"

// startSwift starts OpenStack Swift and returns the URL of its API of Amazon S3.
func startSwift(t testing.TB) string {
	t.Helper()
	for _, program := range []string{"swift-proxy-server", "swift-ring-builder", "memcached"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%v: install swift-proxy, swift-account, swift-container, swift-object and memcached", err)
		}
	}
	dir := t.TempDir()
	args := append([]string{dir}, freePorts(t, 5)...)
	var output bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "servers/swift/run", args...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &output, &output, 10*time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() { <-ended })
	url := "http://127.0.0.1:" + args[1]
	for start := time.Now(); ; {
		err := accept(args[1:])
		if err == nil {
			err = put(t, url+"/lab", nil)
		}
		if err == nil {
			return url
		}
		select {
		case <-ended:
			t.Fatalf("Swift has ended: %s", output.String())
		case <-time.After(100 * time.Millisecond):
			if time.Since(start) > 2*time.Minute {
				t.Fatal(err)
			}
		}
	}
}

// accept returns an error unless something listens on each port. Swift refuses requests for a while if one
// of its servers was missing.
func accept(ports []string) error {
	for _, port := range ports {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err != nil {
			return err
		}
		c.Close()
	}
	return nil
}

// freePorts returns n ports that are free now.
func freePorts(t testing.TB, n int) (ports []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // after all are known, so that they differ
		ports = append(ports, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	}
	return ports
}

// put makes a bucket or an object, with a signature of the driver for http.
func put(t testing.TB, url string, content []byte) error {
	c := fetch.New(&fetch.Options{Credentials: drive.Credentials(fetch.Credential{User: swiftKey, Password: swiftSecret})},
		webdriver.With(webdriver.Options{AWSSigV4: "aws:amz:us-east-1:s3"}))
	defer c.Close()
	req := &fetch.Request{URL: uri.MustParse(url), Method: http.MethodPut, ContentLength: int64(len(content)),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}
	_, err := drive.Read(c.Do(t.Context(), req))
	return err
}

func swiftEnvironment(key, secret string) func(string) string {
	vars := map[string]string{"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
	return func(name string) string { return vars[name] }
}

func loadS3(endpoint, key, secret string) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
		webdriver.Load(env, reg)
		s3.With(s3.Options{Endpoint: endpoint, Getenv: swiftEnvironment(key, secret)})(env, reg)
	}
}

// TestSwift runs the conformance suite against the API of Amazon S3 in OpenStack Swift, which verifies the
// signatures.
func TestSwift(t *testing.T) {
	t.Parallel()
	endpoint := startSwift(t)
	fetchtest.Run(t, fetchtest.Harness{
		Skip: map[string]string{"Scope": "foreign requests are anonymous"},
		Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
			err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				content, err := fs.ReadFile(tree, name)
				if err == nil {
					err = put(t, strings.Replace(sftpURL("s3://lab", tree, name), "s3://", endpoint+"/", 1), content)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return fetchtest.Site{Load: loadS3(endpoint, swiftKey, swiftSecret),
				URL: func(name string) string { return sftpURL("s3://lab", tree, name) }}
		},
	})
	c := drive.Client(t, nil, loadS3(endpoint, swiftKey, "wrong"))
	drive.Fails(t, c, "s3://lab/pub/readme.txt", fetch.ErrAuth)
	c = drive.Client(t, nil, loadS3(endpoint, swiftKey, swiftSecret))
	drive.Fails(t, c, "s3://none/", fetch.ErrNotFound)
	for i := range 1005 { // more than a page
		if err := put(t, fmt.Sprintf("%s/lab/many/%04d", endpoint, i), nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(drive.MustList(t, c, "s3://lab/many/")); n != 1005 {
		t.Errorf("%d entries", n)
	}
}
