//go:build integration

package lab

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// hardFiles are the files that each file server must serve, unless it is known to withhold them.
func hardFiles() []File {
	var list []File
	for _, f := range Fixture() {
		dir, _, inDir := strings.Cut(f.Name, "/")
		if !inDir || dir == NamesDir || dir == TextDir {
			list = append(list, f)
		}
	}
	return list
}

// checkFiles gets the files and compares them with the originals.
func checkFiles(t *testing.T, s *Server, files []File, get func(name string) ([]byte, error)) {
	t.Helper()
	for _, f := range files {
		got, err := get(f.Name)
		same := err == nil && bytes.Equal(got, f.Bytes())
		switch {
		case !s.Serves(f) && same:
			t.Errorf("%q is served, though said to be withheld", f.Name)
		case s.Serves(f) && err != nil:
			t.Errorf("%q: %v", f.Name, err)
		case s.Serves(f) && !same:
			t.Errorf("%q: %d bytes differ from the %d bytes of the file", f.Name, len(got), f.Size)
		}
	}
}

func TestFTPServers(t *testing.T) {
	for _, name := range []string{"vsftpd", "proftpd", "pure-ftpd", "pyftpdlib"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, name)
			c := dialFTP(t, s.Addr("plain"))
			checkFiles(t, s, hardFiles(), c.get)
		})
	}
}

// An ftpConn is a minimal FTP client.
type ftpConn struct {
	net.Conn
	in *bufio.Reader
}

func dialFTP(t *testing.T, addr string) *ftpConn {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute))
	c := &ftpConn{conn, bufio.NewReader(conn)}
	for _, line := range []string{"", "USER labuser", "PASS s3cret", "TYPE I"} {
		if _, err := c.command(line, "2", "3"); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// command sends a line, unless it is empty. It returns the last line of the reply, which must have
// one of the prefixes in want.
func (c *ftpConn) command(line string, want ...string) (string, error) {
	if line != "" {
		if _, err := io.WriteString(c, line+"\r\n"); err != nil {
			return "", err
		}
	}
	for {
		reply, err := c.in.ReadString('\n')
		if err != nil {
			return "", err
		}
		if len(reply) < 4 || reply[3] != ' ' || reply[0] < '1' || reply[0] > '5' {
			continue
		}
		for _, w := range want {
			if strings.HasPrefix(reply, w) {
				return reply, nil
			}
		}
		return "", fmt.Errorf("to %q: %q", line, reply)
	}
}

func (c *ftpConn) get(name string) ([]byte, error) {
	reply, err := c.command("EPSV", "229")
	if err != nil {
		return nil, err
	}
	fields := strings.Split(reply, "|")
	host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
	data, err := net.Dial("tcp", net.JoinHostPort(host, fields[len(fields)-2]))
	if err != nil {
		return nil, err
	}
	defer data.Close()
	if _, err := c.command("RETR "+name, "1"); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(data)
	if err != nil {
		return nil, err
	}
	data.Close() // proftpd waits up to ten seconds for this before it sends 226
	_, err = c.command("", "226")
	return b, err
}

func TestNginx(t *testing.T) {
	t.Parallel()
	s := Start(t, "nginx")
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: CA()}}}
	defer client.CloseIdleConnections()
	checkFiles(t, s, hardFiles(), func(name string) ([]byte, error) {
		u := url.URL{Scheme: "https", Host: "localhost:" + s.Port("tls"), Path: "/" + name}
		return get(client, u.String())
	})
}

func get(client *http.Client, url string) ([]byte, error) {
	resp, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %s", resp.Status)
	}
	return io.ReadAll(resp.Body)
}

func TestGopherServers(t *testing.T) {
	for _, name := range []string{"gophernicus", "pygopherd"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, name)
			files := hardFiles()
			if name == "gophernicus" {
				files = asGophernicusServes(files)
			}
			checkFiles(t, s, files, func(name string) ([]byte, error) {
				conn, err := net.Dial("tcp", s.Addr("plain"))
				if err != nil {
					return nil, err
				}
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(maxWait))
				if _, err := io.WriteString(conn, "/"+name+"\r\n"); err != nil {
					return nil, err
				}
				return io.ReadAll(conn)
			})
		})
	}
}

// asGophernicusServes returns the files that gophernicus sends unchanged, and those where it only
// changes line ends to CR LF. It converts other text.
func asGophernicusServes(files []File) []File {
	var list []File
	for _, f := range files {
		binary := strings.HasSuffix(f.Name, ".bin")
		if !binary && (!strings.HasPrefix(f.Name, NamesDir) || !isASCII(f.Name)) {
			continue
		}
		if !binary {
			b := bytes.ReplaceAll(f.Bytes(), []byte("\n"), []byte("\r\n"))
			f.content = func() []byte { return b }
		}
		list = append(list, f)
	}
	return list
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 127 })
}

func TestProxies(t *testing.T) {
	for _, tt := range []struct{ name, scheme string }{
		{"tinyproxy", "http"}, {"squid", "http"}, {"microsocks", "socks5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			proxy, web := Start(t, tt.name), Start(t, "nginx")
			for _, port := range []string{"plain", "auth"} {
				through := &url.URL{Scheme: tt.scheme, Host: proxy.Addr(port)}
				if port == "auth" {
					through.User = url.UserPassword(proxy.User, proxy.Password)
				}
				client := &http.Client{Transport: &http.Transport{
					Proxy: http.ProxyURL(through), TLSClientConfig: &tls.Config{RootCAs: CA()}}}
				defer client.CloseIdleConnections()
				for _, u := range []string{
					"http://" + web.AddrFrom(proxy, "plain") + "/hello.txt",
					"https://" + web.AddrFrom(proxy, "tls") + "/hello.txt",
				} {
					if b, err := get(client, u); err != nil || string(b) != "Hello from the lab.\n" {
						t.Errorf("%s by port %s: %q, %v", u, port, b, err)
					}
				}
			}
		})
	}
}

func TestStartRoot(t *testing.T) {
	t.Parallel()
	dir := TempDir(t)
	writeFile(t, dir, "own.txt", "my own\n")
	c := dialFTP(t, StartRoot(t, "vsftpd", dir).Addr("plain"))
	if b, err := c.get("own.txt"); err != nil || string(b) != "my own\n" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestNewsServers(t *testing.T) {
	t.Parallel()
	dir := TempDir(t)
	for i := range 500 {
		writeFile(t, dir, fmt.Sprintf("%s/%05d.eml", NewsDir, i), article{
			id: "<" + strconv.Itoa(i) + "@many.invalid>", groups: Group, subject: "Many", body: "One of many.\n"}.text())
	}
	for _, name := range []string{"inn", "sn"} {
		t.Run(name, func(t *testing.T) {
			converse(t, greeting{}, StartRoot(t, name, dir).Addr("plain"), []step{
				{want: "200 "}, {send: "GROUP " + Group + "\r\n", want: "211 500 "},
				{send: "HEAD <499@many.invalid>\r\n", want: "221 "}})
		})
	}
}

func writeFile(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
