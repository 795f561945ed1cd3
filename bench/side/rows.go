//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urlget/urlget/bench/server"
)

// A row is a piece of work that several programs do.
type row struct {
	work  string
	needs string   // the server that is missing; "" if it is there
	dir   string   // where files go
	times int      // how often a program starts in one round
	ours  []string // the command and its arguments
	peers [][]string
	// Against the first peer: at most this much of its time by the clock and on the processors; 0 for
	// no aim.
	wall, cpu float64
	peak      float64 // MiB
}

// site is what the programs retrieve.
type site struct {
	http, https, ftp string // the roots; "" if there is no server
	cert, urls, curl string // files
	stop             []func()
}

const (
	large = 1 << 30
	many  = 5000
)

// begin makes the files and starts the servers.
func begin(work string) (*site, error) {
	s := &site{cert: filepath.Join(work, "nginx", "cert.pem"), urls: filepath.Join(work, "urls"), curl: filepath.Join(work, "curl")}
	root := filepath.Join(work, "root")
	for _, dir := range []string{"nginx", "vsftpd", "root", "root/many"} {
		if err := os.Mkdir(filepath.Join(work, dir), 0o755); err != nil {
			return nil, err
		}
	}
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i * 7 >> 3)
	}
	f, err := os.Create(filepath.Join(root, "large"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for range large / len(block) {
		if _, err := f.Write(block); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(root, "small"), []byte("123456789\n"), 0o644); err != nil {
		return nil, err
	}
	for i := range many {
		if err := os.WriteFile(fmt.Sprintf("%s/many/%04d", root, i), block[:4<<10], 0o644); err != nil {
			return nil, err
		}
	}
	at := server.Place{Root: root, Host: "127.0.0.1", SeenAs: "127.0.0.1"}
	if http, https, stop, err := server.Nginx(filepath.Join(work, "nginx"), at); err == nil {
		s.http, s.https, s.stop = http, https, append(s.stop, stop)
	} else {
		fmt.Fprintln(os.Stderr, "side:", err)
	}
	if address, stop, err := server.Vsftpd(filepath.Join(work, "vsftpd"), at); err == nil {
		s.ftp, s.stop = "ftp://"+address, append(s.stop, stop)
	} else {
		fmt.Fprintln(os.Stderr, "side:", err)
	}
	var urls, curl strings.Builder
	curl.WriteString("remote-name-all\n") // which holds for the URLs after it
	for i := range many {
		fmt.Fprintf(&urls, "%s/many/%04d\n", s.http, i)
		fmt.Fprintf(&curl, "url = \"%s/many/%04d\"\n", s.http, i)
	}
	if err := os.WriteFile(s.urls, []byte(urls.String()), 0o600); err != nil {
		return nil, err
	}
	return s, os.WriteFile(s.curl, []byte(curl.String()), 0o600)
}

func (s *site) end() {
	for _, stop := range s.stop {
		stop()
	}
}

// rows returns all that is measured. The first peer is the one that aims are about.
func rows(s *site, program string, o options) []row {
	ours := func(args ...string) []string { return append([]string{program, "-q"}, args...) }
	curl := func(args ...string) []string { return append([]string{"curl", "-s"}, args...) }
	one := func(url string) [][]string {
		return [][]string{
			curl("--cacert", s.cert, "-o", "out", url),
			{"wget", "-q", "--ca-certificate", s.cert, "-O", "out", url},
			{"wget2", "-q", "--ca-certificate", s.cert, "-O", "out", url},
			{"aria2c", "-q", "--ca-certificate", s.cert, "-o", "out", url},
		}
	}
	trusted := func(args ...string) []string {
		return ours(append([]string{"--ca-certificate", s.cert, "-O", "out"}, args...)...)
	}
	web, files := "", ""
	if s.http == "" {
		web = "nginx"
	}
	if s.ftp == "" {
		files = "vsftpd"
	}
	return []row{
		{work: "HTTP, 1 GiB to memory", needs: web, dir: o.work, ours: trusted(s.http + "/large"), peers: one(s.http + "/large"), wall: 0.60, cpu: 0.65},
		{work: "HTTP, 1 GiB to disk", needs: web, dir: o.disk, ours: trusted(s.http + "/large"), peers: one(s.http + "/large"), wall: 0.55},
		{work: "HTTPS, 1 GiB", needs: web, dir: o.work, ours: trusted(s.https + "/large"), peers: one(s.https + "/large"), wall: 0.92},
		{work: "HTTPS, 1 GiB by HTTP/2", needs: web, dir: o.work, ours: trusted("--http2", s.https+"/large"),
			peers: [][]string{curl("--http2", "--cacert", s.cert, "-o", "out", s.https+"/large")}, wall: 1},
		{work: "FTP, 1 GiB", needs: files, dir: o.work, ours: ours("-O", "out", s.ftp+"/large"),
			peers: [][]string{curl("-o", "out", s.ftp+"/large"), {"wget", "-q", "-O", "out", s.ftp + "/large"}}, wall: 0.70},
		{work: "HTTP, 5,000 files of 4 KiB, one at a time", needs: web, dir: o.work, ours: ours("-j", "1", "-i", s.urls),
			peers: [][]string{curl("-K", s.curl), {"wget", "-q", "-i", s.urls}, {"wget2", "-q", "--max-threads=1", "-i", s.urls}}, wall: 1},
		{work: "HTTP, 10 bytes, 20 times", needs: web, dir: o.work, times: 20, ours: trusted(s.http + "/small"), peers: one(s.http + "/small"), wall: 0.70, peak: 12},
		{work: "HTTPS, 10 bytes, 20 times", needs: web, dir: o.work, times: 20, ours: trusted(s.https + "/small"), peers: one(s.https + "/small"), wall: 0.70, peak: 12},
	}
}
