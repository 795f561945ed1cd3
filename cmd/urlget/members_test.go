package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"sync"
)

// archivesOf adds archives to a site: good and bad ones, and a resource with the URL of a member.
func archivesOf(file func(path, contentType, content string), mux *http.ServeMux) {
	good := goodZip()
	file("/x.zip", "application/zip", good)
	file("/get", "application/octet-stream", good)
	file("/x.zip!/a/c.txt", "text/plain", "from the server\n")
	file("/damaged.zip", "application/zip", strings.Replace(good, "hello", "jello", 1))
	file("/cut.zip", "application/zip", good[:len(good)-20])
	file("/bomb.zip", "application/zip", bomb())
	file("/hostile.zip", "application/zip", zipFile(zip.Store, "../../up", "x", "\x1b]0;title", "y"))
	file("/page.zip", "text/html", `<a href="/hello.txt">the file</a>`)
	file("/x.tgz", "application/gzip", goodTar())
	mux.HandleFunc("/norange.zip", func(w http.ResponseWriter, _ *http.Request) {
		w.Write(append([]byte("PK\x03\x04"), make([]byte, 2<<20)...))
	})
}

// Compressors allocate much memory, and most sites serve their archives to nobody.
var (
	goodZip = sync.OnceValue(func() string {
		return zipFile(zip.Store, "a/b.txt", "hello\n", "a/c.txt", "more\n", "top.bin", "\x00\x01")
	})
	goodTar = sync.OnceValue(func() string { return tarFile("./a/b.txt", "hello\n", "a/c.txt", "more\n") })
	bomb    = sync.OnceValue(func() string { return zipFile(zip.Deflate, "bomb", strings.Repeat("\x00", 2<<20)) })
)

// zipFile returns a zip file with names and contents in turn.
func zipFile(method uint16, files ...string) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for ; len(files) > 0; files = files[2:] {
		w, _ := z.CreateHeader(&zip.FileHeader{Name: files[0], Method: method, Modified: modified})
		io.WriteString(w, files[1])
	}
	z.Close()
	return b.String()
}

// tarFile is zipFile for a compressed tar file.
func tarFile(files ...string) string {
	var b bytes.Buffer
	g := gzip.NewWriter(&b)
	t := tar.NewWriter(g)
	for ; len(files) > 0; files = files[2:] {
		t.WriteHeader(&tar.Header{Name: files[0], Size: int64(len(files[1])), ModTime: modified, Typeflag: tar.TypeReg})
		io.WriteString(t, files[1])
	}
	t.Close()
	g.Close()
	return b.String()
}
