//go:build linux

package bench

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/bench/delay"
	"github.com/urlget/urlget/bench/server"
)

// startNginx starts nginx for the files of root, with HTTP, and with HTTP/2 over TLS. It returns
// their URLs on the host seenAs. Paths below /slow/ are limited to 1 MiB/s per connection.
func startNginx(b *testing.B, root, host, seenAs string) (http, https string) {
	b.Helper()
	http, https, stop, err := server.Nginx(b.TempDir(), server.Place{Root: root, Host: host, SeenAs: seenAs})
	stopAtEnd(b, stop, err)
	return http, https
}

// stopAtEnd stops a server when the benchmark ends, or skips the benchmark if there is no server.
func stopAtEnd(b *testing.B, stop func(), err error) {
	b.Helper()
	if errors.Is(err, server.ErrNone) {
		b.Skip(err)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(stop)
}

// A list is a list of URLs in the format of each program.
type list struct {
	urls, curl string // file names
	count      int
}

// writeList writes the URLs of the files of fillSmall below base.
func writeList(b *testing.B, base string, count int) list {
	b.Helper()
	var urls, config strings.Builder
	config.WriteString("remote-name-all\n") // applies to the URLs that follow
	for i := range count {
		fmt.Fprintf(&urls, "%s/many/file-%05d\n", base, i)
		fmt.Fprintf(&config, "url = \"%s/many/file-%05d\"\n", base, i)
	}
	l := list{filepath.Join(b.TempDir(), "urls"), filepath.Join(b.TempDir(), "curl"), count}
	for name, text := range map[string]string{l.urls: urls.String(), l.curl: config.String()} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return l
}

// compareLists compares the command with others on a list.
func compareLists(b *testing.B, l list, ours []string, rivals []rival) {
	b.Helper()
	program := filepath.Join(b.TempDir(), "urlget")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/urlget").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	there := rivals[:0]
	for _, r := range rivals {
		if _, err := exec.LookPath(r.args[0]); err == nil {
			there = append(there, r)
		}
	}
	own := rival{name: "urlget", args: append([]string{program, "-q", "-i", l.urls}, ours...)}
	compare(b, b.TempDir(), func(dir string) error {
		if err := own.run(dir); err != nil {
			return err
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) != l.count {
			return fmt.Errorf("%d files, want %d: %v", len(files), l.count, err)
		}
		return nil
	}, there)
}

func curlZ(l list, atOnce string, more ...string) rival {
	return rival{name: "curl-Z", args: append([]string{"curl", "-s", "-Z", "--parallel-max", atOnce, "-K", l.curl}, more...)}
}

// BenchmarkManyHTTP retrieves a list of 5,000 files of 4 KiB from nginx without TLS. The target is
// 0.9 times the time of curl -Z with 50 transfers.
//
//	TMPDIR=/dev/shm go test -run '^$' -bench ManyHTTP$ -benchtime 3x ./bench
func BenchmarkManyHTTP(b *testing.B) {
	root := b.TempDir()
	fillSmall(b, root, 5000, 4<<10)
	base, _ := startNginx(b, root, "127.0.0.1", "127.0.0.1")
	l := writeList(b, base, 5000)
	compareLists(b, l, []string{"-j", "8", "--per-host", "8"}, []rival{
		curlZ(l, "50"),
		{name: "wget2", args: []string{"wget2", "-q", "-i", l.urls}},
		{name: "aria2", args: []string{"aria2c", "-q", "-j16", "-i", l.urls}},
	})
}

// BenchmarkManyHTTPS is BenchmarkManyHTTP over TLS, with HTTP/2 if the program supports it. The
// targets are the times of curl -Z and wget2.
//
//	TMPDIR=/dev/shm go test -run '^$' -bench ManyHTTPS$ -benchtime 3x ./bench
func BenchmarkManyHTTPS(b *testing.B) {
	root := b.TempDir()
	fillSmall(b, root, 5000, 4<<10)
	_, base := startNginx(b, root, "127.0.0.1", "127.0.0.1")
	l := writeList(b, base, 5000)
	compareLists(b, l, []string{"-j", "16", "--insecure"}, []rival{
		curlZ(l, "50", "-k"),
		{name: "wget2", args: []string{"wget2", "-q", "--no-check-certificate", "-i", l.urls}},
		{name: "aria2", args: []string{"aria2c", "-q", "-j16", "--check-certificate=false", "-i", l.urls}},
	})
}

// BenchmarkManyFTP retrieves a list of 5,000 files of 4 KiB from vsftpd. The target is 0.6 times
// the time of curl -Z with 8 transfers.
//
//	TMPDIR=/dev/shm go test -run '^$' -bench ManyFTP$ -benchtime 3x ./bench
func BenchmarkManyFTP(b *testing.B) {
	root := b.TempDir()
	fillSmall(b, root, 5000, 4<<10)
	l := writeList(b, "ftp://"+startVsftpd(b, root, "127.0.0.1", "127.0.0.1"), 5000)
	compareLists(b, l, []string{"-j", "4", "--per-host", "4"}, []rival{curlZ(l, "8")})
}

// BenchmarkManyDelay retrieves a list of 200 files of 4 KiB from servers with a round trip of 50
// ms. The targets are the time of curl -Z with 50 transfers over HTTP, and 0.35 times that of curl
// -Z with 8 over FTP. It needs a network namespace:
//
//	TMPDIR=/dev/shm unshare --net go test -run '^$' -bench ManyDelay -benchtime 2x ./bench
func BenchmarkManyDelay(b *testing.B) {
	root := b.TempDir()
	fillSmall(b, root, 200, 4<<10)
	delayLink(b, 50*time.Millisecond)
	base, _ := startNginx(b, root, delay.Near, delay.Distant)
	l := writeList(b, base, 200)
	b.Run("http", func(b *testing.B) {
		compareLists(b, l, []string{"-j", "50", "--per-host", "50"}, []rival{
			curlZ(l, "50"),
			{name: "aria2", args: []string{"aria2c", "-q", "-j16", "-i", l.urls}},
		})
	})
	l = writeList(b, "ftp://"+startVsftpd(b, root, delay.Near, delay.Distant), 200)
	b.Run("ftp", func(b *testing.B) {
		compareLists(b, l, []string{"-j", "16", "--per-host", "16"}, []rival{curlZ(l, "8")})
	})
}

// BenchmarkSegments retrieves 20 MiB from a server that is limited to 1 MiB/s per connection. The
// target is the time of aria2 with 16 connections.
//
//	TMPDIR=/dev/shm go test -run '^$' -bench Segments -benchtime 2x ./bench
func BenchmarkSegments(b *testing.B) {
	root := b.TempDir()
	if err := os.WriteFile(filepath.Join(root, "file"), make([]byte, 20<<20), 0o644); err != nil {
		b.Fatal(err)
	}
	base, _ := startNginx(b, root, "127.0.0.1", "127.0.0.1")
	l := list{urls: filepath.Join(b.TempDir(), "urls"), count: 1}
	if err := os.WriteFile(l.urls, []byte(base+"/slow/file\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	for _, segments := range []string{"16", "auto"} {
		b.Run(segments, func(b *testing.B) {
			compareLists(b, l, []string{"-s", segments}, []rival{
				{name: "aria2", args: []string{"aria2c", "-q", "-x16", "-s16", "-k1M", base + "/slow/file"}},
			})
		})
	}
}
