package lab

import (
	"crypto/tls"
	"crypto/x509"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestParseMode(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want mode
		err  string
	}{
		{in: "", want: mode{compose: true, process: true}},
		{in: "required", want: mode{compose: true, process: true, required: true}},
		{in: "compose", want: mode{compose: true}},
		{in: "process", want: mode{process: true}},
		{in: "required, process", want: mode{process: true, required: true}},
		{in: "compose,process", err: "exclude each other"},
		{in: "always", err: `unknown word "always"`},
	}
	for _, tt := range tests {
		got, err := parseMode(tt.in)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("parseMode(%q): error %v, want one with %q", tt.in, err, tt.err)
			}
			continue
		}
		if err != nil || got != tt.want {
			t.Errorf("parseMode(%q) = %+v, %v; want %+v", tt.in, got, err, tt.want)
		}
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	values := map[string]string{"DIR": "/tmp/x", "PORT_PLAIN": "21"}
	tests := []struct{ in, want, err string }{
		{in: "no placeholder, a@b, $DIR", want: "no placeholder, a@b, $DIR"},
		{in: "@DIR@/conf", want: "/tmp/x/conf"},
		{in: "@DIR@@DIR@:@PORT_PLAIN@", want: "/tmp/x/tmp/x:21"},
		{in: "@dir@", want: "@dir@"},
		{in: "@DIR@ @OTHER@", err: "no value for @OTHER@"},
	}
	for _, tt := range tests {
		got, err := expand(tt.in, values)
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("expand(%q): error %v, want %q", tt.in, err, tt.err)
			}
			continue
		}
		if err != nil || got != tt.want {
			t.Errorf("expand(%q) = %q, %v; want %q", tt.in, got, err, tt.want)
		}
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	p := newProcess("", nil)
	p.dir, p.values = t.TempDir(), map[string]string{"PORT_PLAIN": "4711"}
	if err := p.mkdir("log", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := p.run("some input", "sh", "-c", `cat; echo " at $0"`, "@PORT_PLAIN@"); err != nil {
		t.Fatal(err)
	}
	if got, want := p.log(), "--- sh.out\nsome input at 4711\n\n"; got != want {
		t.Errorf("log %q, want %q", got, want)
	}
	if err := p.run("", "sh", "@PORT_OTHER@"); err == nil {
		t.Error("an argument with an unknown placeholder was taken")
	}
}

func TestStopKillsProcessGroup(t *testing.T) {
	t.Parallel()
	p := newProcess("", nil)
	p.dir, p.grace = t.TempDir(), 10*time.Millisecond
	if err := p.mkdir("log", 0o755); err != nil {
		t.Fatal(err)
	}
	// Parent and child both ignore SIGTERM.
	if err := p.spawn("sh", "-c", `trap "" TERM; sleep 60 & echo ready; wait`); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(p.log(), "ready") {
		runtime.Gosched()
	}
	group := p.children[0].cmd.Process.Pid
	p.stop()
	if _, err := os.Stat(p.dir); !os.IsNotExist(err) {
		t.Errorf("folder was not removed: %v", err)
	}
	// A killed process may take a moment to disappear. pgrep succeeds if it finds any process of
	// the group that is not a zombie.
	for exec.Command("pgrep", "-r", "R,S,D", "-g", strconv.Itoa(group)).Run() == nil {
	}
}

func TestConfigPlaceholders(t *testing.T) {
	t.Parallel()
	// All placeholders; the ports are those of all servers.
	values := map[string]string{"DIR": "d", "ROOT": "r", "HOST": "h", "ADVERTISED": "a", "USER": "u", "PASSWORD": "p",
		"PASSIVE_MIN": "1", "PASSIVE_MAX": "2", "MODULES": "m", "NEWS": "n", "SN": "s"}
	for _, svc := range services {
		for _, port := range svc.ports {
			values[portValue(port.name)] = "1"
		}
	}
	err := fs.WalkDir(config, "config", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := config.ReadFile(path)
		if err != nil {
			return err
		}
		if _, err := expand(string(text), values); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestServices(t *testing.T) {
	t.Parallel()
	published := make(map[int]string)
	for _, svc := range services {
		var names []string
		for _, p := range svc.ports {
			if slices.Contains(names, p.name) {
				t.Errorf("%s has two ports %q", svc.name, p.name)
			}
			names = append(names, p.name)
			if p.published == 0 || p.sameAs != "" {
				continue
			}
			if other := published[p.published]; other != "" {
				t.Errorf("%s and %s are both published on %d", other, svc.name, p.published)
			}
			published[p.published] = svc.name
			if p.published < 28100 || p.published > 28999 {
				t.Errorf("%s is published on %d, outside the block", svc.name, p.published)
			}
		}
	}
}

func TestGreeting(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Write([]byte("220 somebody else\r\n"))
			conn.Close()
		}
	}()
	addr := l.Addr().String()
	if err := (greeting{want: "somebody"}).check(addr, time.Minute); err != nil {
		t.Error(err)
	}
	if err := (greeting{want: "urlget lab"}).check(addr, time.Minute); err == nil {
		t.Error("a foreign server was taken for the lab's")
	}
	if err := (greeting{tls: true, want: "somebody"}).check(addr, time.Minute); err == nil {
		t.Error("a server without TLS was taken for one with")
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	pair, err := tls.X509KeyPair(chainPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"localhost", "127.0.0.1", "::1", "vsftpd", "nginx"} {
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: CA()}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFreePort(t *testing.T) {
	t.Parallel()
	seen := make(map[int]bool)
	for range 100 {
		port, err := freePort()
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] {
			t.Fatalf("port %d twice", port)
		}
		seen[port] = true
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	dir := TempDir(t)
	below := filepath.Join(dir, "closed", "below")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := closed(below); got != "" {
		t.Errorf("%s is said to be closed", got)
	}
	if err := os.Chmod(filepath.Dir(below), 0o750); err != nil {
		t.Fatal(err)
	}
	if got := closed(below); got != filepath.Dir(below) {
		t.Errorf("closed folder %q, want %q", got, filepath.Dir(below))
	}
}

func TestFind(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("URLGET_LAB_CACHE", cache)
	own := filepath.Join(cache, "packages", "x", "usr", "sbin", "sh")
	if err := os.MkdirAll(filepath.Dir(own), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := find("sh"); got != own {
		t.Errorf("find(sh) = %q, want %q", got, own)
	}
	if got := find("usr/sbin/sh"); got != own {
		t.Errorf("find(usr/sbin/sh) = %q, want %q", got, own)
	}
	if got := find("ls"); !filepath.IsAbs(got) {
		t.Errorf("find(ls) = %q, want a path of the system", got)
	}
	if got := find("no-such-program-anywhere"); got != "" {
		t.Errorf("find of nothing = %q", got)
	}
}

func TestComposePorts(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(file), "\n\n")
	for _, svc := range services {
		i := slices.IndexFunc(parts, func(part string) bool {
			return strings.Contains(part, "\n  "+svc.composeName()+":\n") || strings.HasPrefix(part, "  "+svc.composeName()+":\n")
		})
		if i < 0 {
			t.Errorf("no service %s in docker-compose.yml", svc.composeName())
			continue
		}
		for _, p := range svc.ports {
			if p.published != 0 && !publishes(parts[i], p.published) {
				t.Errorf("%s: port %d is not published", svc.composeName(), p.published)
			}
		}
	}
}

// publishes reports whether a service's part of docker-compose.yml publishes a port, alone or in a
// range, under its own number.
func publishes(part string, port int) bool {
	for _, m := range regexp.MustCompile(`"127\.0\.0\.1:(\d+)(?:-(\d+))?:(\d+)(?:-(\d+))?(?:/udp)?"`).FindAllStringSubmatch(part, -1) {
		first, _ := strconv.Atoi(m[1])
		last := first
		if m[2] != "" {
			last, _ = strconv.Atoi(m[2])
		}
		if m[1] == m[3] && m[2] == m[4] && first <= port && port <= last {
			return true
		}
	}
	return false
}
