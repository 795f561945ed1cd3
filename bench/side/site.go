//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urlget/urlget/bench/server"
)

const (
	large    = 1 << 30
	limited  = 20 << 20 // for the server with 1 MiB/s per connection
	many     = 5000
	few      = 200 // for the distant server
	sections = 50  // number of sections of the pages
	pages    = 1 + sections*(1+39)
	webHosts = 200 // number of hosts with the same pages
	webPages = 25  // number of pages of each host
	webLinks = 40  // number of links of each page
	dirs     = 100 // number of directories of the tree, and of files in each
)

// fill writes the files to serve below root.
func fill(root string) error {
	f := files{root: root}
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i * 7 >> 3)
	}
	f.write("small", []byte("123456789\n"))
	f.repeat("limited", block, limited/len(block))
	f.repeat("large", block, large/len(block))
	for i := range many {
		name := fmt.Sprintf("many/%04d", i)
		f.write(name, append([]byte(name), block[len(name):4<<10]...)) // all different
	}
	for i := range dirs * dirs {
		f.write(fmt.Sprintf("tree/%02d/%02d", i/dirs, i%dirs), block[:1<<10])
	}
	f.pages()
	f.web()
	return f.err
}

// files writes files until one fails.
type files struct {
	root string
	err  error
}

func (f *files) write(name string, content []byte) { f.repeat(name, content, 1) }

// repeat writes the same content several times. It does not keep it in memory, because that would
// count as peak memory of the programs started later.
func (f *files) repeat(name string, content []byte, times int) {
	path := filepath.Join(f.root, name)
	if f.err == nil {
		f.err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	var file *os.File
	if f.err == nil {
		file, f.err = os.Create(path)
	}
	for range times {
		if f.err == nil {
			_, f.err = file.Write(content)
		}
	}
	if file != nil {
		f.err = errors.Join(f.err, file.Close())
	}
	if old := time.Now().Add(-24 * time.Hour); f.err == nil { // most mirrored files are old
		f.err = os.Chtimes(path, old, old)
	}
}

// pages writes a page with links to section pages, which link to the pages below them. All have
// text and links back.
func (f *files) pages() {
	text := strings.Repeat("<p>All work and no play makes a long page of <em>it</em>.</p>\n", 50)
	page := func(name string, links []string) {
		var b strings.Builder
		fmt.Fprintf(&b, "<!DOCTYPE html>\n<html><head><title>%s</title></head><body>\n<a "+
			"href=\"index.html\">top</a>\n", name)
		for _, link := range links {
			fmt.Fprintf(&b, "<a href=\"%s\">%s</a>\n", link, link)
		}
		f.write("pages/"+name, []byte(b.String()+text+"</body></html>\n"))
	}
	var top []string
	for i := range sections {
		section := fmt.Sprintf("%02d.html", i)
		var below []string
		for j := range (pages-1)/sections - 1 {
			below = append(below, fmt.Sprintf("%02d-%02d.html", i, j))
			page(below[j], []string{section})
		}
		page(section, below)
		top = append(top, section)
	}
	page("index.html", top)
}

// web writes pages with many links to each other.
func (f *files) web() {
	for i := range webPages {
		var b strings.Builder
		fmt.Fprintf(&b, "<!DOCTYPE html>\n<html><head><title>%d</title></head><body>\n", i)
		for j := range webLinks {
			fmt.Fprintf(&b, "<p>Some text around <a href=\"%02d.html\">link %d</a>.</p>\n", (i+j)%webPages, j)
		}
		f.write(fmt.Sprintf("web/%02d.html", i), []byte(b.String()+"</body></html>\n"))
	}
}

// webAddresses returns the addresses of the hosts with the same pages.
func webAddresses() (addrs []string) {
	for i := range webHosts {
		addrs = append(addrs, fmt.Sprintf("127.0.1.%d", i+1))
	}
	return addrs
}

// A site is a set of servers with the files for the programs.
type site struct {
	http, https, ftp             string // root URLs; "" without a server
	cert                         string // certificate file
	webList                      string // list of a page of each of the hosts with the same pages
	httpList, httpsList, ftpList list
	stop                         []func()
}

// A list is a file with URLs, and one in curl's format.
type list struct{ urls, curl string }

// begin starts the servers and writes lists of count small files.
func begin(dir string, at server.Place, count int) (*site, error) {
	web, files := filepath.Join(dir, "nginx"), filepath.Join(dir, "vsftpd")
	for _, dir := range []string{dir, web, files} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, err
		}
	}
	s := &site{cert: filepath.Join(web, "cert.pem")}
	if http, https, stop, err := server.Nginx(web, at); err == nil {
		s.http, s.https, s.stop = http, https, append(s.stop, stop)
	} else {
		fmt.Fprintln(os.Stderr, "side:", err)
	}
	if address, stop, err := server.Vsftpd(files, at); err == nil {
		s.ftp, s.stop = "ftp://"+address, append(s.stop, stop)
	} else {
		fmt.Fprintln(os.Stderr, "side:", err)
	}
	for _, l := range []struct {
		base string
		list *list
	}{{s.http, &s.httpList}, {s.https, &s.httpsList}, {s.ftp, &s.ftpList}} {
		if err := l.list.write(dir, l.base, count); err != nil {
			s.end()
			return nil, err
		}
	}
	s.webList = filepath.Join(dir, "web-urls")
	var hosts strings.Builder
	for _, host := range at.More {
		fmt.Fprintf(&hosts, "https://%s%s/web/00.html\n", host,
			strings.TrimPrefix(s.https, "https://"+at.SeenAs))
	}
	if err := os.WriteFile(s.webList, []byte(hosts.String()), 0o600); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// write writes a list of the small files below base.
func (l *list) write(dir, base string, count int) error {
	scheme, _, _ := strings.Cut(base, ":")
	l.urls, l.curl = filepath.Join(dir, scheme+"-urls"), filepath.Join(dir, scheme+"-curl")
	var urls, curl strings.Builder
	curl.WriteString("remote-name-all\n") // applies to the URLs that follow
	for i := range count {
		fmt.Fprintf(&urls, "%s/many/%04d\n", base, i)
		fmt.Fprintf(&curl, "url = \"%s/many/%04d\"\n", base, i)
	}
	if err := os.WriteFile(l.urls, []byte(urls.String()), 0o600); err != nil {
		return err
	}
	return os.WriteFile(l.curl, []byte(curl.String()), 0o600)
}

func (s *site) end() {
	for _, stop := range s.stop {
		stop()
	}
}
